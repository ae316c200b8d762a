internal import COpenSSL

/// Reads BER (X.690, 8) from a source that may be larger than memory.
///
/// OpenSSL parses the header of each value (`ASN1_get_object`). This type only moves from one value to the next.
struct BERStream {
    /// The identifier and the length of a value (X.690, 8.1.2 and 8.1.3).
    struct Header {
        /// The number of the tag.
        let tag: CInt
        /// The class of the tag, such as `V_ASN1_UNIVERSAL`.
        let tagClass: CInt
        let isConstructed: Bool
        /// The length of the contents in bytes; nil for the indefinite form.
        let length: Int?
        /// The header's own bytes.
        let encoded: ArraySlice<UInt8>

        /// Whether this is the end-of-contents marker of a value of indefinite length (X.690, 8.1.5).
        var isEnd: Bool { tagClass == V_ASN1_UNIVERSAL && tag == V_ASN1_EOC && length == 0 }

        /// Whether the value has this universal type.
        func `is`(_ universal: CInt) -> Bool { tagClass == V_ASN1_UNIVERSAL && tag == universal }

        /// Whether the value has this context-specific tag (X.690, 8.14).
        func isContext(_ number: CInt) -> Bool { tagClass == V_ASN1_CONTEXT_SPECIFIC && tag == number }
    }

    private var source: any ByteSource
    private var buffer: ArraySlice<UInt8> = []
    /// The number of bytes that callers have consumed. Bytes in the buffer are not counted.
    private(set) var offset = 0

    /// An upper bound for the headers that OpenSSL accepts: a tag, and a length of up to 127 bytes.
    private static let longestHeader = 160

    init(_ source: any ByteSource) { self.source = source }

    /// Reads from the source until the buffer contains at least `count` bytes or the source ends.
    private mutating func fill(_ count: Int) throws {
        while buffer.count < count {
            let next = try source.next()
            if next.isEmpty { return }
            if buffer.isEmpty { buffer = next } else { buffer += next }
        }
    }

    /// Reads the header of the next value.
    ///
    /// - Throws: `CMSError.Code.malformed` if the source has ended or the header is invalid; any error of the source.
    mutating func header() throws -> Header {
        try fill(Self.longestHeader)
        guard !buffer.isEmpty else { throw Self.endsEarly }
        let available = Swift.min(buffer.count, Self.longestHeader)
        // OpenSSL checks that the contents fit the given length. They need not be in the buffer, so it receives a
        // practically unlimited length. After a truncated header OpenSSL reads zeros; the check of `count` below
        // detects that.
        let window = Array(buffer.prefix(available)) + [UInt8](repeating: 0, count: Self.longestHeader)
        var (length, tag, tagClass) = (0, CInt(0), CInt(0))
        let (flags, count) = unsafe window.withUnsafeBufferPointer { bytes -> (CInt, Int) in
            guard let start = bytes.baseAddress else { return (0x80, 0) }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            let flags = unsafe ASN1_get_object(&cursor, &length, &tag, &tagClass, Int.max >> 1)
            guard let end = unsafe cursor else { return (0x80, 0) }
            return unsafe (flags, end - start)
        }
        guard flags & 0x80 == 0, length >= 0 else {
            OpenSSLError.discardQueue()
            throw CMSError(.malformed, "the message is not valid CMS: a value has a malformed header")
        }
        guard count <= available else { throw Self.endsEarly }
        let encoded = buffer.prefix(count)
        skip(count)
        return Header(
            tag: tag, tagClass: tagClass, isConstructed: flags & V_ASN1_CONSTRUCTED != 0,
            length: flags & 1 == 0 ? length : nil, encoded: encoded)
    }

    /// Passes the next `count` bytes to `body`, in pieces of any size.
    ///
    /// - Throws: `CMSError.Code.malformed` if the source ends too early; any error of the source or of `body`.
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

    /// Reads the source to its end. Only blanks, line ends and zeros may be left, which text files and buffers of a fixed
    /// size contain.
    ///
    /// - Throws: `CMSError.Code.malformed` if other bytes are left; any error of the source.
    mutating func finish() throws {
        repeat {
            guard buffer.allSatisfy({ [0, 0x09, 0x0A, 0x0D, 0x20].contains($0) }) else {
                throw CMSError(.malformed, "data follows the CMS structure, and nothing protects this data")
            }
            skip(buffer.count)
            buffer = try source.next()
        } while !buffer.isEmpty
    }

    private mutating func skip(_ count: Int) {
        buffer = buffer.dropFirst(count)
        offset += count
    }

    private static let endsEarly = CMSError(.malformed, "the message is truncated")
}
