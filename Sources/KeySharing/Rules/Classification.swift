/// The type that a mechanism's rules assign to a certificate, and the rule that applied (docs/rules.md R5).
///
/// ```swift
/// let facts = CertificateFacts(keyUsage: .digitalSignature, hasRFC822Name: true)
/// let classification = Classification(facts, under: .keySharing2025)
/// let type = classification.type  // .signature
/// let because = classification.rule.message
/// ```
public struct Classification: Sendable, Hashable {
    /// The classification rules. The raw values are stable codes for scripts.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// docs/rules.md R5.3.
        case signsAndEnciphers = "signs-and-enciphers"
        /// docs/rules.md R5.4.
        case signsWithNonRepudiation = "signs-with-non-repudiation"
        /// docs/rules.md R5.5.
        case signsWithEmailName = "signs-with-email-name"
        /// docs/rules.md R5.7.
        case signsWithPrincipalName = "signs-with-principal-name"
        /// docs/rules.md R5.6, legacy only.
        case signsWithoutEmailName = "signs-without-email-name"
        /// docs/rules.md R5.8, 2025 only.
        case signsWithoutNames = "signs-without-names"
        /// docs/rules.md R5.9.
        case enciphersOnly = "enciphers-only"
        /// docs/rules.md R5.2.
        case noKeyUsage = "no-key-usage"
        /// docs/rules.md R5.10.
        case otherKeyUsage = "other-key-usage"
    }

    /// The type of the certificate.
    public let type: CredentialType
    /// The rule that applied.
    public let rule: Rule

    /// Classifies a certificate (docs/rules.md R5.1 to R5.11). The first matching rule applies. Key usage bits that no
    /// rule mentions are ignored.
    public init(_ facts: CertificateFacts, under mechanism: Mechanism) {
        rule = Self.rule(for: facts, under: mechanism)
        type =
            switch (rule, mechanism) {
            case (.signsAndEnciphers, .keySharing2025): .device
            case (.signsAndEnciphers, .legacy): .multi
            case (.signsWithNonRepudiation, _), (.signsWithEmailName, _): .signature
            case (.signsWithPrincipalName, _), (.signsWithoutEmailName, _): .authentication
            case (.signsWithoutNames, _): .device
            case (.enciphersOnly, _): .encryption
            case (.noKeyUsage, .legacy): .device
            case (.noKeyUsage, .keySharing2025), (.otherKeyUsage, _): .unknown
            }
    }

    private static func rule(for facts: CertificateFacts, under mechanism: Mechanism) -> Rule {
        // RFC 5280, 4.2.1.3, requires at least one bit, so an empty extension counts as a missing one.
        guard let usage = facts.keyUsage, !usage.isEmpty else { return .noKeyUsage }
        let signs = usage.contains(.digitalSignature)
        // docs/rules.md R5.11: elliptic-curve keys use key agreement where RSA keys use key transport (RFC 5480, 3).
        let enciphers =
            usage.contains(.keyEncipherment) || (facts.isEllipticCurve && usage.contains(.keyAgreement))
        if signs && enciphers { return .signsAndEnciphers }
        if signs && usage.contains(.nonRepudiation) { return .signsWithNonRepudiation }
        if signs && facts.hasRFC822Name { return .signsWithEmailName }
        if signs && mechanism == .legacy { return .signsWithoutEmailName }
        if signs && facts.hasUTF8OtherName { return .signsWithPrincipalName }
        if signs { return .signsWithoutNames }
        return enciphers ? .enciphersOnly : .otherKeyUsage
    }
}

extension Classification.Rule {
    /// The rule, as a phrase about the certificate.
    public var message: String {
        switch self {
        case .signsAndEnciphers: "its key usage has both digital signature and key encipherment"
        case .signsWithNonRepudiation: "its key usage has digital signature and non-repudiation"
        case .signsWithEmailName: "its key usage has only digital signature, and it contains an e-mail name"
        case .signsWithPrincipalName:
            "its key usage has only digital signature, and it contains a principal name and no e-mail name"
        case .signsWithoutEmailName:
            "its key usage has only digital signature, and it contains no e-mail name"
        case .signsWithoutNames:
            "its key usage has only digital signature, and it contains neither an e-mail nor a principal name"
        case .enciphersOnly: "its key usage has key encipherment without digital signature"
        case .noKeyUsage: "it has no key usage"
        case .otherKeyUsage: "its key usage has neither digital signature nor key encipherment"
        }
    }
}
