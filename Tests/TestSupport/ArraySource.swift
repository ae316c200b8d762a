import OpenSSL

/// A source that returns the bytes of an array in one piece.
package struct ArraySource: ByteSource {
    private var bytes: ArraySlice<UInt8>

    /// Creates a source of these bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// Returns all bytes the first time, and none after that.
    package mutating func next() -> ArraySlice<UInt8> {
        defer { bytes = [] }
        return bytes
    }
}
