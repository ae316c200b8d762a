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

/// Why a file or folder could not be read as certificates, revocation lists or OCSP responses. Equal by code.
package struct MaterialError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    package enum Code: String, Sendable, Hashable {
        /// There is no such file.
        case missing
        /// The file system does not let it be read, or it is neither a file nor a folder.
        case unreadable
        /// The file holds something else, or it is damaged.
        case malformed
        /// There is more than a limit allows; the reason names it.
        case limit
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, with the path, for a person.
    package let reason: String

    /// Describes a failure.
    package init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The reason.
    package var description: String { reason }
}

extension MaterialError: Equatable {
    package static func == (left: MaterialError, right: MaterialError) -> Bool { left.code == right.code }
}

/// How much is read.
package struct MaterialLimits: Sendable, Hashable {
    /// The most files of one folder.
    package var files = 20_000
    /// The most octets of one file.
    package var fileOctets = 64 << 20
    /// The most certificates in all.
    package var certificates = 20_000
    /// The most octets in all that are kept in memory. Lists in DER files of their own are not: they are read
    /// again where a path needs them.
    package var keptOctets = 64 << 20

    /// The usual limits.
    package init() {}
}
