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
        try header.mayBeMessageFile || header.contentType == nil && containsEncodedFile() || containsMessage()
    }

    /// Whether the first lines of a file declare a media type. Empty lines before them are skipped.
    ///
    /// - Throws: `FileError`.
    static func declaresType(_ descriptor: CInt) throws -> Bool {
        // Other readers of the file continue at this position.
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        var reader = try LineReader(descriptor)
        var size = 0
        var isFound = false
        while size <= MailLimits.headers, let line = try reader.next() {
            size += line.count
            if line.withoutLineEnd.isEmpty {
                if isFound { break }
                continue
            }
            isFound = true
            let text = String(decoding: line, as: UTF8.self)
            // Some programs end lines at other characters, too.
            let starts = text.unicodeScalars.split(whereSeparator: MailHeader.lineEnds.contains).map {
                String($0).trimmedOfBlanks.lowercased()
            }
            if starts.contains(where: { $0.wholeMatch(of: /content-type\s*:.*/) != nil }) { return true }
        }
        return false
    }

    /// Whether the body begins with a CMS structure, in any transfer encoding, that contains content. A signature without
    /// content and a list of certificates hide nothing.
    private func containsMessage() throws -> Bool {
        let position = lseek(descriptor, 0, SEEK_CUR)
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
            guard line.starts(with: "begin".utf8) || line.starts(with: "=ybegin".utf8) else { continue }
            let text = String(decoding: line.prefix(200), as: UTF8.self)
            if text.prefixMatch(of: #/(?:=ybegin|begin(?:-base64)? [0-7]{3,4}) /#) != nil { return true }
        }
        return false
    }
}

extension MailHeader {
    /// The media types of files that mail programs open by their names.
    static let unspecificTypes: Set<String> = [
        "application/octet-stream", "application/x-unknown-content-type",
    ]

    /// The file name that mail programs could find, in lower case: the parts of a divided name joined, and decoded from
    /// both encodings (RFC 2047, RFC 2231).
    var decodedFileName: String {
        let joined =
            fileNames?.joined()
            ?? fields.filter { $0.is("Content-Type") || $0.is("Content-Disposition") }.map(\.value).joined()
        let name = MailText.decoded(headerValue: joined)
        return (name.removingPercentEncoding ?? name).lowercased()
    }

    /// Whether mail programs could open a part with this header as a message because of its file name.
    var mayBeMessageFile: Bool {
        guard let type = contentType?.name, Self.unspecificTypes.contains(type) else { return false }
        let (name, isClear) = (decodedFileName, fileNames != nil)
        return [".eml", ".mht", ".mhtml", ".nws", ".mail"].contains {
            isClear ? name.hasSuffix($0) : name.contains($0)
        }
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
            var digits = text.filter { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
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
