/// A source of bytes that may be larger than memory.
package protocol ByteSource {
    /// Returns the next bytes, as many as the source chooses; empty at the end.
    ///
    /// - Throws: The error that prevents the source from reading or decoding further bytes.
    mutating func next() throws -> ArraySlice<UInt8>
}

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

/// The limits for reading CMS messages.
package enum CMSLimits {
    /// The maximum number of bytes of a message, not counting the content: recipients, certificates, signatures and
    /// attributes.
    package static let structure = 4 << 20
    /// The maximum depth of nested values.
    package static let nesting = 32
    /// The maximum number of signatures in a message.
    package static let signers = 64
    /// The maximum number of different digest algorithms of a signed message. The content is digested with each.
    package static let digests = 8
    /// The maximum number of different recipients for which a password or a shared key is tried.
    package static let secretRecipients = 64
    /// The maximum number of different recipients whose private keys are tried.
    package static let heldRecipients = 8
    /// The maximum number of different recipients whose private keys are tried although the app may not use them. They
    /// do not count towards ``heldRecipients``.
    package static let ungrantedRecipients = 64
    /// The maximum number of entries for the same recipient with which decryption is tried.
    package static let entriesOfRecipient = 16
    /// The maximum number of failed attempts with private keys, for all recipients, layers and parts of a message.
    package static let failedAttempts = 256
    /// The minimum length of an AES-GCM tag, in bytes (RFC 5084, 3.2, allows 12 to 16).
    package static let tag = 12
}
