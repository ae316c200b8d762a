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
    /// content and a list of certificates hide nothing.
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
    /// Whether the transfer encoding is uuencode or yEnc, which no standard for mail allows but some programs decode.
    var hasUncommonEncoding: Bool { ["uu", "yenc"].contains(where: transferEncoding.contains) }

    /// The media types of files that mail programs open by their names.
    static let unspecificTypes: Set<String> = [
        "application/octet-stream", "application/x-unknown-content-type",
    ]

    /// The file name extensions of messages.
    private static let messageExtensions = [".eml", ".mht", ".mhtml", ".nws"]

    /// The file name in lower case: the parts of a divided name joined, and decoded from both encodings (RFC 2047, RFC
    /// 2231). Nil if programs could find different names.
    var decodedFileName: String? { fileNames.map { Self.decoded($0.joined()) } }

    /// Whether the file name of a part of unspecific type is that of a message.
    var hasNameOfMessage: Bool {
        guard let type = contentType?.name, Self.unspecificTypes.contains(type) else { return false }
        return Self.messageExtensions.contains { decodedFileName?.hasSuffix($0) == true }
    }

    /// Whether programs that choose, divide or join names differently could find the name of a message.
    var mayHaveNameOfMessage: Bool {
        guard let type = contentType?.name, Self.unspecificTypes.contains(type) else { return false }
        let names =
            fileNames
            ?? fields.filter { $0.is("Content-Type") || $0.is("Content-Disposition") }.map(\.value)
        let name = Self.decoded(names.joined())
        return Self.countOfWords(name) > 0
            || (Self.messageExtensions + [".p7m"]).contains { name.contains($0) }
    }

    /// Whether each file name in Content-Type and Content-Disposition is that of an S/MIME message or signature (RFC 8551,
    /// 3.2.1). Some programs show an attachment with another name, which can contain any text, for example in an unsigned
    /// attribute.
    var hasOnlyNamesOfSMIME: Bool { hasOnlyFileNames(endingIn: [".p7s", ".p7m", ".p7c", ".p7z"]) }

    /// Whether each file name that programs could find in Content-Type and Content-Disposition is empty, or ends in one of
    /// these extensions.
    func hasOnlyFileNames(endingIn extensions: [String]) -> Bool {
        for field in fields where field.is("Content-Type") || field.is("Content-Disposition") {
            var rest = field.value.unicodeScalars.drop { $0 != ";" }
            let (pairs, isAmbiguous) = ContentType.parameters(&rest)
            if isAmbiguous, field.value.lowercased().contains("name") { return false }
            let names = pairs.filter { ["name", "filename"].contains($0.name.prefix { $0 != "*" }) }
            // Some programs decode encoded words before they divide the field, and find parameters inside the words.
            let words = names.map { Self.countOfWords($0.value) }.reduce(0, +)
            guard Self.countOfWords(field.value) == words else { return false }
            guard names.allSatisfy({ Self.hasKnownCharset($0.name, $0.value) }) else { return false }
            var texts = names.filter { !Self.isDivided($0.name) }.map(\.value)
            // Only the parts of one divided name are joined. Programs choose differently between other names.
            for base in ["name", "filename"] {
                let parts = names.filter { Self.isDivided($0.name) && $0.name.hasPrefix(base) }
                    .map {
                        (number: Self.partNumber($0.name), text: $0.value, isExtended: $0.name.hasSuffix("*"))
                    }
                    .sorted { $0.number < $1.number }
                guard parts.map(\.number) == Array(0..<parts.count) else { return false }
                // Python reads a charset in the first part if any part is extended.
                guard parts.first?.isExtended != false || !parts.contains(where: \.isExtended) else {
                    return false
                }
                texts.append(parts.map(\.text).joined())
            }
            guard texts.allSatisfy({ Self.isName($0, endingIn: extensions) }) else { return false }
        }
        return true
    }

    /// Whether a parameter has no charset (RFC 2231, 4), or one that contains ASCII.
    private static func hasKnownCharset(_ name: String, _ value: String) -> Bool {
        guard name.hasSuffix("*"), partNumber(name) == 0 else { return true }
        let charset = value.prefix { $0 != "'" }.lowercased()
        return charset.isEmpty || MailText.containsASCII(charset)
    }

    /// The number of places where an encoded word could begin.
    private static func countOfWords(_ text: String) -> Int {
        Array(text.utf8).ranges(of: Array("=?".utf8)).count
    }

    /// Whether a name is empty or ends in one of the extensions. Some programs end it at a control character, find further
    /// parameters after a quote, or decode malformed words.
    private static func isName(_ name: String, endingIn extensions: [String]) -> Bool {
        let name = decoded(name)
        return name.isEmpty
            || extensions.contains(where: name.hasSuffix) && countOfWords(name) == 0
                && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !"\"\\".utf8.contains($0) }
    }

    /// Whether a parameter is a part of a divided one, such as `name*1*` (RFC 2231, 3).
    private static func isDivided(_ name: String) -> Bool { !["", "*"].contains(name.drop { $0 != "*" }) }

    private static func decoded(_ name: String) -> String {
        let name = MailText.decoded(headerValue: name, assumesLatin: true)
        var bytes: [UInt8] = []
        var rest = Array(name.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.first != UInt8(ascii: "+"),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
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
