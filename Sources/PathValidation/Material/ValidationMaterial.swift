package import OpenSSL

/// Material for validating certificates, as read from files.
package struct ValidationMaterial: Sendable {
    /// A file in a folder that contains no validation material.
    package struct SkippedFile: Sendable, Hashable {
        /// The path of the file.
        package let path: String
        /// The reason why it was skipped, for users.
        package let reason: String
    }

    /// The certificates in the order found, without duplicates.
    package var certificates: [Certificate] = []
    /// The revocation lists, in the order found.
    package var lists: [EncodedRevocationList] = []
    /// The OCSP responses, in the order found.
    package var responses: [StatusResponse] = []
    /// The files in folders that were skipped.
    package var skipped: [SkippedFile] = []

    /// Creates empty material.
    package init() {}
}

/// The limits of reading.
package struct MaterialLimits: Sendable, Hashable {
    /// The maximum number of files in one folder.
    package var files = 20_000
    /// The maximum size of one file, in bytes.
    package var fileOctets = 64 << 20
    /// The maximum total number of certificates.
    package var certificates = 20_000
    /// The maximum number of identities and certificates that one run checks. Each check takes a fraction of a
    /// millisecond or more, and a file may contain a hundred thousand certificates.
    package var subjects = 5_000
    /// The maximum number of bytes kept in memory in total. Lists in separate DER files do not count, because they are
    /// read again when a path needs them.
    package var keptOctets = 64 << 20

    /// Creates the default limits.
    package init() {}
}
