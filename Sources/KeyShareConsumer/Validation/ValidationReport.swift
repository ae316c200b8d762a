package import KeySharing
package import OpenSSL
package import PathValidation

/// The checks of one identity, with the outcome of each.
package struct ValidationReport: Sendable {
    /// One check of an identity.
    package struct Check: Sendable, Hashable {
        /// The name of the check, as shown to users, such as `key usage`.
        package let name: String
        /// Whether the check passed, failed or was not performed.
        package let outcome: Verification.Outcome
        /// The details of the outcome as a phrase, such as the reason for a failure.
        package let explanation: String
    }

    /// The identity that was checked.
    package let identity: IdentitySummary
    /// The certificate that was checked.
    package let certificate: Certificate
    /// The checks in display order: the private key first, then the certificate.
    package let checks: [Check]
    /// The error that prevented the check of the private key, or nil. It does not mean that the key belongs to another
    /// certificate.
    package let keyError: (any Error)?
    /// Whether the chain is trusted, no check of the certificate failed, and the key, if any, matches.
    package let isValid: Bool
    /// Whether the identity is invalid only because its certificate, or that of an authority above it, has expired.
    package let hasOnlyExpired: Bool
    /// The result of the path validation, including all paths that were tried.
    package let validation: PathValidation
    /// The requests that were made for the identity; empty if nothing was fetched.
    package let fetched: [FetchRecord]

    /// Whether a check failed. If the private key could not be read, a report may be neither valid nor failed.
    package var hasFailed: Bool { checks.contains { $0.outcome == .failed } }
}
