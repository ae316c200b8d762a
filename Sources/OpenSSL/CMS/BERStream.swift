internal import COpenSSL

/// Reads BER (X.690, 8) from a source that is never in memory as a whole.
///
/// OpenSSL reads the header of each value (`ASN1_get_object`); this type only walks from one to the next.
struct BERStream {
    /// The identifier and the length of a value (X.690, 8.1.2 and 8.1.3).
    struct Header {
        /// The number of the tag.
        let tag: CInt
        /// The class of the tag, such as `V_ASN1_UNIVERSAL`.
        let tagClass: CInt
        let isConstructed: Bool
        /// The number of bytes of the contents; nil for the indefinite form.
        let length: Int?
        /// The header's own bytes.
        let encoded: ArraySlice<UInt8>

        /// Whether this ends a value of indefinite length (X.690, 8.1.5).
        var isEnd: Bool { tagClass == V_ASN1_UNIVERSAL && tag == V_ASN1_EOC && length == 0 }

        /// Whether the value is of this universal type.
        func `is`(_ universal: CInt) -> Bool { tagClass == V_ASN1_UNIVERSAL && tag == universal }

        /// Whether the value has this tag of a context (X.690, 8.14).
        func isContext(_ number: CInt) -> Bool { tagClass == V_ASN1_CONTEXT_SPECIFIC && tag == number }
    }

    private var source: any ByteSource
    private var buffer: ArraySlice<UInt8> = []
    /// How many bytes have been read.
    private(set) var offset = 0

    /// No header that OpenSSL takes is longer: a tag, and a length of up to 127 bytes.
    private static let longestHeader = 160

    init(_ source: any ByteSource) { self.source = source }

    /// Makes sure that so many bytes are in the buffer, or all that there are.
    private mutating func fill(_ count: Int) throws {
        while buffer.count < count {
            let next = try source.next()
            if next.isEmpty { return }
            if buffer.isEmpty { buffer = next } else { buffer += next }
        }
    }

    /// Reads a header.
    ///
    /// - Throws: `CMSError.Code.malformed` where there is none, or none that can be read; what the source throws.
    mutating func header() throws -> Header {
        try fill(Self.longestHeader)
        guard !buffer.isEmpty else { throw Self.endsEarly }
        let available = Swift.min(buffer.count, Self.longestHeader)
        // OpenSSL is told that everything is there, because the contents are not; a header that goes on behind the end
        // of the bytes runs into zeros, and is found to be too long afterwards.
        let window = Array(buffer.prefix(available)) + [UInt8](repeating: 0, count: Self.longestHeader)
        var (length, tag, tagClass) = (0, CInt(0), CInt(0))
        let (flags, count) = unsafe window.withUnsafeBufferPointer { bytes -> (CInt, Int) in
            guard let start = bytes.baseAddress else { return (0x80, 0) }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            let flags = unsafe ASN1_get_object(&cursor, &length, &tag, &tagClass, Int.max >> 1)
            guard let end = unsafe cursor else { return (0x80, 0) }
            return unsafe (flags, end - start)
        }
        guard flags & 0x80 == 0, count > 0, length >= 0 else {
            OpenSSLError.discardQueue()
            throw CMSError(.malformed, "the message is not in CMS: a value has no proper header")
        }
        guard count <= available else { throw Self.endsEarly }
        let encoded = buffer.prefix(count)
        skip(count)
        return Header(
            tag: tag, tagClass: tagClass, isConstructed: flags & V_ASN1_CONSTRUCTED != 0,
            length: flags & 1 == 0 ? length : nil, encoded: encoded)
    }

    /// Passes on the next bytes.
    ///
    /// - Throws: `CMSError.Code.malformed` where there are fewer; what the source and `body` throw.
    mutating func pass(_ count: Int, to body: (ArraySlice<UInt8>) throws -> Void) throws {
        var rest = count
        while rest > 0 {
            try fill(1)
            guard !buffer.isEmpty else { throw Self.endsEarly }
            let part = buffer.prefix(rest)
            skip(part.count)
            rest -= part.count
            try body(part)
        }
    }

    private mutating func skip(_ count: Int) {
        buffer = buffer.dropFirst(count)
        offset += count
    }

    private static let endsEarly = CMSError(.malformed, "the message ends early")
}
