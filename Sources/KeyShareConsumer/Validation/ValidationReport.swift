package import KeySharing
package import OpenSSL

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
    /// The checks in the order in which they are shown: the private key first, then those of the certificate.
    package let checks: [Check]
    /// The error by which the private key could not be read; nil where it was read. It says nothing about the
    /// key.
    package let keyError: (any Error)?
    /// Whether the chain is trusted, every check of the certificate passed or was not made, and the key
    /// matches.
    package let isValid: Bool

    /// Whether a check failed; a report may be neither valid nor failed where the private key could not be
    /// read.
    package var hasFailed: Bool { checks.contains { $0.outcome == .failed } }
}

extension Verification.Outcome {
    /// The outcome in words.
    package var words: String {
        switch self {
        case .passed: "pass"
        case .failed: "fail"
        case .notChecked: "not checked"
        case .unsettled: "not settled"
        }
    }
}

extension Verification.Kind {
    /// The subject of the check in words.
    package var words: String {
        switch self {
        case .chain: "chain"
        case .validity: "validity"
        case .keyUsage: "key usage"
        case .extendedKeyUsage: "extended key usage"
        case .policies: "policies"
        case .nameConstraints: "name constraints"
        case .revocation: "revocation"
        case .strength: "strength"
        }
    }
}
