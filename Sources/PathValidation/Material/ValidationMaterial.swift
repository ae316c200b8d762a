package import OpenSSL

/// What files hold for validating certificates.
package struct ValidationMaterial: Sendable {
    /// A file of a folder that holds nothing of the kind.
    package struct SkippedFile: Sendable, Hashable {
        /// The file.
        package let path: String
        /// Why it holds nothing, for a person.
        package let reason: String
    }

    /// The certificates, each once, in the order found.
    package var certificates: [Certificate] = []
    /// The revocation lists, in the order found.
    package var lists: [EncodedRevocationList] = []
    /// The OCSP responses, in the order found.
    package var responses: [StatusResponse] = []
    /// The files of folders that were passed over.
    package var skipped: [SkippedFile] = []

    /// Nothing.
    package init() {}
}

/// How much is read.
package struct MaterialLimits: Sendable, Hashable {
    /// The most files of one folder.
    package var files = 20_000
    /// The most octets of one file.
    package var fileOctets = 64 << 20
    /// The most certificates in all.
    package var certificates = 20_000
    /// The most identities and certificates that one run checks: each takes a fraction of a millisecond at least, and
    /// a file may hold a hundred thousand.
    package var subjects = 5_000
    /// The most octets in all that are kept in memory. Lists in DER files of their own are not: they are read
    /// again where a path needs them.
    package var keptOctets = 64 << 20

    /// The usual limits.
    package init() {}
}
