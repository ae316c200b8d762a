/// Where bytes come from that are too many to be in memory at once.
package protocol ByteSource {
    /// The next bytes, as many as suit the source; none at the end.
    ///
    /// - Throws: whatever keeps the source from going on.
    mutating func next() throws -> ArraySlice<UInt8>
}

/// The bytes of an array, all at once.
package struct ArraySource: ByteSource {
    private var bytes: ArraySlice<UInt8>

    /// A source of these bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// All of the bytes the first time, and none from then on.
    package mutating func next() -> ArraySlice<UInt8> {
        defer { bytes = [] }
        return bytes
    }
}

/// The bounds of what is read of a message in CMS.
package enum CMSLimits {
    /// The greatest number of bytes around the content: recipients, certificates, signatures, attributes.
    package static let structure = 4 << 20
    /// The greatest depth of values inside values.
    package static let nesting = 32
    /// The greatest number of signatures that are verified.
    package static let signers = 64
    /// The shortest tag of AES-GCM in bytes (RFC 5084, 3.2, allows 12 to 16).
    package static let tag = 12
}
