internal import Foundation
internal import OpenSSL
internal import PrivateFiles

/// Finds out whether a part could be a message, or an S/MIME message, for some mail programs, although its header declares
/// another type. An attacker could place such a part next to HTML, which sends the decrypted text to a server (Efail).
struct HiddenMessage {
    /// The open file of the part.
    let descriptor: CInt
    let header: MailHeader
    /// A reader whose next byte is the first one of the body.
    let reader: LineReader

    /// Whether mail programs could open the part because of its content or its file name.
    ///
    /// - Throws: `FileError`.
    func isPossible() throws -> Bool {
        try header.mayHaveNameOfMessage || header.hasUncommonEncoding
            || header.contentType == nil && containsEncodedFile()
            || header.contentType?.name.hasPrefix("message/") == true
                && Self.declaresType(descriptor, from: reader)
            || containsMessage()
    }

    /// Whether the first lines of a file, or those that a reader returns next, declare a media type. Empty lines before them
    /// are skipped.
    ///
    /// - Throws: `FileError`.
    static func declaresType(_ descriptor: CInt, from start: LineReader? = nil) throws -> Bool {
        // Other readers of the file continue at this position.
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        var reader = try start ?? LineReader(descriptor)
        var size = 0
        var isFound = false
        while size <= MailLimits.headers, let line = try reader.next() {
            size += line.count
            if line.withoutLineEnd.isEmpty {
                if isFound { break }
                continue
            }
            isFound = true
            // Some programs end lines at other characters, too, so the name can be anywhere in the line.
            let text = line.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            for range in text.ranges(of: Array("content-type".utf8)) {
                let rest = text[range.upperBound...].drop { $0 == 0x20 || $0 == 0x09 }
                if rest.first == UInt8(ascii: ":") { return true }
            }
        }
        return false
    }

    /// Whether OpenSSL finds the header of an S/MIME message in bare CMS, where it searches for one by default.
    ///
    /// It reads pieces of at most 1,023 bytes as lines, up to the first empty one, and ignores those without a colon.
    ///
    /// - Throws: `FileError`.
    static func isInsideCMS(_ descriptor: CInt) throws -> Bool {
        // Other readers of the file continue at this position.
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        var reader = try LineReader(descriptor)
        var rest: ArraySlice<UInt8> = []
        while true {
            let bytes = try reader.next()
            rest = rest.isEmpty ? bytes ?? [] : rest + (bytes ?? [])
            while rest.count >= 1_023 || rest.last == 0x0A || bytes == nil {
                let line = rest.prefix(1_023)
                guard let first = line.first, ![0, 0x0A, 0x0D].contains(first) else { return false }
                rest = rest.dropFirst(line.count)
                if declaresMessage(line) { return true }
                if rest.isEmpty { break }
            }
        }
    }

    /// Whether OpenSSL reads a line as the Content-Type of an S/MIME message.
    private static func declaresMessage(_ line: ArraySlice<UInt8>) -> Bool {
        guard HeaderLines.name(line, before: ":") == "content-type" else { return false }
        let text = String(decoding: line, as: UTF8.self).lowercased()
        return ["pkcs7-mime", "pkcs7-signature", "multipart/signed"].contains { text.contains($0) }
    }

    /// Whether the body begins with a CMS structure, in any transfer encoding, that contains content. A signature without
    /// content and a list of certificates hide nothing. Neither does a signed configuration profile, which no mail program
    /// opens as a message.
    private func containsMessage() throws -> Bool {
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        let decoders: [(LineReader) -> any ByteSource] = [
            { EncodedBody($0, isBase64: false) }, { QuotedPrintableBody(reader: $0) },
            { LenientBase64(reader: $0) },
        ]
        for decoder in decoders {
            lseek(descriptor, position, SEEK_SET)
            switch try CMSStructure.contentType(at: decoder(reader)) {
            case OID.envelopedData, OID.authEnvelopedData, OID.compressedData: return true
            case OID.signedData where header.isProfile: break
            case OID.signedData:
                lseek(descriptor, position, SEEK_SET)
                do {
                    if try CMSStructure(reading: decoder(reader), content: { _ in }).hasContent {
                        return true
                    }
                } catch is CMSError {
                    return true
                }
            default: break
            }
        }
        return false
    }

    /// Whether the body contains a file in uuencode or yEnc, which some programs decode in text without a media type.
    private func containsEncodedFile() throws -> Bool {
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        var reader = reader
        while let line = try reader.next() {
            if line.starts(with: "=ybegin ".utf8) { return true }
            for start in ["begin ", "begin-base64 "] where line.starts(with: start.utf8) {
                let rest = line.dropFirst(start.utf8.count)
                let mode = rest.prefix { (0x30...0x37).contains($0) }
                if (3...4).contains(mode.count), rest.dropFirst(mode.count).first == 0x20 { return true }
            }
        }
        return false
    }
}

extension MailHeader {
    /// Whether the part is a configuration profile by its media type and its file name.
    fileprivate var isProfile: Bool {
        contentType?.name == "application/x-apple-aspen-config" && contentType?.isAmbiguous == false
            && fileNames?.isEmpty == false && hasOnlyFileNames(endingIn: [".mobileconfig"])
    }

    /// Whether the transfer encoding is uuencode or yEnc, which no standard for mail allows but some programs decode.
    var hasUncommonEncoding: Bool { ["uu", "yenc"].contains(where: transferEncoding.contains) }
}

/// Decodes a body in quoted-printable.
private struct QuotedPrintableBody: ByteSource {
    var reader: LineReader

    mutating func next() throws -> ArraySlice<UInt8> {
        while let line = try reader.next() {
            let bytes = MailText.quotedPrintableDecoded(Array(line))
            if !bytes.isEmpty { return bytes[...] }
        }
        return []
    }
}

/// Decodes Base64 as mail programs do, which ignore other characters (RFC 2045, 6.8).
private struct LenientBase64: ByteSource {
    private var reader: LineReader
    private let decoder = Base64Decoder()
    /// The number of digits in the last group of four, which can be incomplete.
    private var count = 0

    init(reader: LineReader) { self.reader = reader }

    mutating func next() throws -> ArraySlice<UInt8> {
        while true {
            let text = try reader.rest()
            var digits = text.filter(\.isBase64Digit)
            count = (count + digits.count) % 4
            if text.isEmpty {
                if count < 2 { return [] }
                digits = Array(repeating: UInt8(ascii: "="), count: 4 - count)
                count = 0
            }
            if let bytes = decoder.decode(digits[...]), !bytes.isEmpty { return bytes[...] }
        }
    }
}
