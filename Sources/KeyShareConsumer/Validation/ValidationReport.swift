package import KeySharing
package import OpenSSL
package import PathValidation

/// The checks of one identity, with the outcome of each.
package struct ValidationReport: Sendable {
    /// One check of an identity.
    package struct Check: Sendable, Hashable {
        /// The subject of the check in words, such as `key usage`.
        package let name: String
        /// Whether the check passed, failed or was not made.
        package let outcome: Verification.Outcome
        /// The reason for the outcome, or what was found.
        package let explanation: String
    }

    /// The identity that was checked.
    package let identity: IdentitySummary
    /// The certificate that was checked.
    package let certificate: Certificate
    /// The checks in the order in which they are shown: the private key first, then those of the certificate.
    package let checks: [Check]
    /// The error by which the private key could not be read; nil where it was read. It says nothing about the
    /// key.
    package let keyError: (any Error)?
    /// Whether the chain is trusted, every check of the certificate passed or was not made, and the key
    /// matches where there is one.
    package let isValid: Bool
    /// Whether the identity is not valid for no other reason than that it, or an authority above it, has expired.
    package let hasOnlyExpired: Bool
    /// The path, and the others that were tried.
    package let validation: PathValidation
    /// What was fetched for the identity; empty where nothing was.
    package let fetched: [FetchRecord]

    /// Whether a check failed; a report may be neither valid nor failed where the private key could not be
    /// read.
    package var hasFailed: Bool { checks.contains { $0.outcome == .failed } }
}
