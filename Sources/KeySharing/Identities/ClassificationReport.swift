/// A certificate's type under both mechanisms' rules, and where integrators are known to trip.
public struct ClassificationReport: Sendable, Hashable {
    /// Something about a certificate that is sorted otherwise than its maker or reader may think.
    public enum Warning: String, Sendable, Hashable, CaseIterable {
        case mechanismsDiffer = "mechanisms-differ"
        case ellipticKeyAgreement = "elliptic-key-agreement"
        case emailNameInAuthentication = "email-name-in-authentication"
        case noKeyUsage = "no-key-usage"
        case unknownType = "unknown-type"
    }

    public let facts: CertificateFacts
    public let keySharing2025: Classification
    public let legacy: Classification
    public let warnings: [Warning]

    public init(_ facts: CertificateFacts) {
        self.facts = facts
        keySharing2025 = Classification(facts, under: .keySharing2025)
        legacy = Classification(facts, under: .legacy)
        var warnings: [Warning] = []
        if keySharing2025.type != legacy.type { warnings.append(.mechanismsDiffer) }
        let agrees = facts.keyUsage?.contains(.keyAgreement) ?? false
        let enciphers = facts.keyUsage?.contains(.keyEncipherment) ?? false
        if facts.isEllipticCurve, agrees, !enciphers { warnings.append(.ellipticKeyAgreement) }
        if keySharing2025.rule == .signsWithEmailName, facts.hasUTF8OtherName || facts.hasOtherOtherName {
            warnings.append(.emailNameInAuthentication)
        }
        if keySharing2025.rule == .noKeyUsage { warnings.append(.noKeyUsage) }
        if keySharing2025.type == .unknown || legacy.type == .unknown { warnings.append(.unknownType) }
        self.warnings = warnings
    }
}

extension ClassificationReport.Warning {
    /// What it means, in one sentence.
    public var sentence: String {
        switch self {
        case .mechanismsDiffer: "the two mechanisms sort this certificate differently"
        case .ellipticKeyAgreement:
            "key agreement counts as key encipherment for elliptic-curve keys; readers that know RSA only take this certificate for one of unknown type"
        case .emailNameInAuthentication:
            "an e-mail name makes a signature certificate of what looks like an authentication certificate"
        case .noKeyUsage: "without key usage 2025 does not know the type, and legacy takes it for a device's"
        case .unknownType:
            "identities of unknown type are listed at the root and under no-filter (2025), or under all (legacy), and nowhere else"
        }
    }
}
