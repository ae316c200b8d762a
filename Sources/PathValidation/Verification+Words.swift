package import OpenSSL

extension Verification.Outcome {
    /// The outcome as text for users.
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
    /// The name of the check for users.
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
