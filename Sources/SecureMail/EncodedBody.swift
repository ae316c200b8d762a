internal import OpenSSL
internal import PrivateFiles

/// The body of a message that contains a CMS structure, decoded from its transfer encoding (RFC 2045, 6).
struct EncodedBody: ByteSource {
    private var reader: LineReader
    private let decoder: Base64Decoder?
    private let isEnd: ((ArraySlice<UInt8>) -> Bool)?
    private let allowsRest: Bool
    private var isAtEnd = false

    /// Creates a source of the decoded bytes of a body.
    ///
    /// - Parameters:
    ///   - reader: A reader whose next byte is the first one of the body.
    ///   - isBase64: Whether the body is Base64; if false, its bytes are returned unchanged.
    ///   - allowsRest: Whether lines that are not empty may follow the line that ends the body.
    ///   - isEnd: Returns whether a line ends the body; nil if the body ends with the file.
    init(
        _ reader: LineReader, isBase64: Bool, allowsRest: Bool = true,
        until isEnd: ((ArraySlice<UInt8>) -> Bool)? = nil
    ) {
        self.reader = reader
        decoder = isBase64 ? Base64Decoder() : nil
        self.allowsRest = allowsRest
        self.isEnd = isEnd
    }

    mutating func next() throws -> ArraySlice<UInt8> {
        while !isAtEnd {
            let text: ArraySlice<UInt8>
            if let isEnd {
                let isLineStart = reader.isAtLineStart
                text = try reader.next() ?? []
                if isLineStart, isEnd(text) {
                    isAtEnd = true
                    while !allowsRest, let line = try reader.next() {
                        guard line.withoutLineEnd.isEmpty else { throw Self.damaged }
                    }
                    break
                }
            } else {
                text = try reader.rest()
            }
            guard !text.isEmpty else {
                isAtEnd = true
                break
            }
            guard let decoder else { return text }
            guard let bytes = decoder.decode(text) else { throw Self.damaged }
            if !bytes.isEmpty { return bytes[...] }
        }
        guard let decoder else { return [] }
        guard decoder.finish() else { throw Self.damaged }
        return []
    }

    private static let damaged = CMSError(.malformed, "the body of the message is not Base64")
}

/// Wraps a byte source, and throws `.overLimit` if that source returns more than a given number of bytes.
struct BoundedSource: ByteSource {
    private var source: any ByteSource
    private let limit: Int
    private var count = 0

    init(_ source: any ByteSource, _ limit: Int) {
        self.source = source
        self.limit = limit
    }

    mutating func next() throws -> ArraySlice<UInt8> {
        let bytes = try source.next()
        count += bytes.count
        guard count <= limit else {
            throw CMSError(.overLimit, "the signature is larger than \(limit) bytes")
        }
        return bytes
    }
}

/// Converts line endings to CR LF, the canonical form for signatures (RFC 8551, 3.1.1).
struct CanonicalLines {
    private var endsInReturn = false

    /// Returns the next bytes with the line ending CR LF. A CR LF may be split across two calls.
    mutating func canonical(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + bytes.count / 16)
        for byte in bytes {
            if byte == 0x0A, !endsInReturn { result.append(0x0D) }
            result.append(byte)
            endsInReturn = byte == 0x0D
        }
        return result[...]
    }
}

extension UInt8 {
    /// Whether the character is a digit of Base64 (RFC 4648, 4).
    var isBase64Digit: Bool { base64Value != nil }

    /// The value of a digit of Base64 (RFC 4648, 4); nil for another character.
    var base64Value: UInt8? {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): self - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
