internal import Foundation
internal import OpenSSL
internal import PrivateFiles

/// Finds out whether a part could be an S/MIME message for some mail programs, although its header declares another type.
/// An attacker could place such a part next to HTML, which sends the decrypted text to a server (Efail).
enum HiddenMessage {
    /// Whether mail programs could open a part that has this unambiguous header, because of the content or the file name.
    ///
    /// - Parameter reader: A reader whose next byte is the first one of the body.
    /// - Throws: `FileError`.
    static func isPossible(_ type: ContentType, _ header: MailHeader, _ reader: LineReader) throws -> Bool {
        let signatures = ["application/pkcs7-signature", "application/x-pkcs7-signature"]
        guard type.name == "application/octet-stream" || signatures.contains(type.name) else { return false }
        switch try contentType(reader) {
        case nil: return false
        case OID.signedData:
            guard let names = header.fileNames else { return true }
            // Programs join the parts of divided names, and decode names of both encodings (RFC 2047, RFC 2231).
            let name = MailText.decoded(headerValue: names.joined())
            return (name.removingPercentEncoding ?? name).lowercased().contains("p7m")
        default: return true
        }
    }

    /// Whether the first lines of a part contain the name of the field that declares the media type. Empty lines before
    /// them are skipped.
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
            if String(decoding: line, as: UTF8.self).lowercased().contains("content-type") { return true }
        }
        return false
    }

    /// The content type of the CMS structure at the beginning of a body, in any transfer encoding; nil if there is none.
    private static func contentType(_ reader: LineReader) throws -> String? {
        var reader = reader
        let first = try reader.rest()
        for bytes in [Array(first), MailText.quotedPrintableDecoded(Array(first))] {
            if let type = try CMSStructure.contentType(at: ArraySource(bytes)) { return type }
        }
        return try CMSStructure.contentType(at: LenientBase64(text: first, reader: reader))
    }
}

/// Decodes Base64 as mail programs do, which ignore other characters (RFC 2045, 6.8).
private struct LenientBase64: ByteSource {
    var text: ArraySlice<UInt8>
    var reader: LineReader
    private let decoder = Base64Decoder()

    init(text: ArraySlice<UInt8>, reader: LineReader) {
        self.text = text
        self.reader = reader
    }

    mutating func next() throws -> ArraySlice<UInt8> {
        while !text.isEmpty {
            let digits = text.filter { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
            let bytes = decoder.decode(digits[...]) ?? []
            text = try reader.rest()
            if !bytes.isEmpty { return bytes[...] }
        }
        return []
    }
}
