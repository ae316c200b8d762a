/// The type that a mechanism's rules give a certificate, and which rule it was.
public struct Classification: Sendable, Hashable {
    /// The rule that decided; its raw value is a stable code for scripts.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        case signsAndEnciphers = "signs-and-enciphers"
        case signsWithNonRepudiation = "signs-with-non-repudiation"
        case signsWithEmailName = "signs-with-email-name"
        case signsWithPrincipalName = "signs-with-principal-name"
        case signsWithoutEmailName = "signs-without-email-name"
        case signsWithoutNames = "signs-without-names"
        case enciphersOnly = "enciphers-only"
        case noKeyUsage = "no-key-usage"
        case otherKeyUsage = "other-key-usage"
    }

    public let type: CredentialType
    public let rule: Rule

    /// Applies the rules of `mechanism`; the first that fits wins, and bits no rule names are ignored.
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
        // RFC 5280 asks for at least one bit, so an empty extension says as little as a missing one.
        guard let usage = facts.keyUsage, !usage.isEmpty else { return .noKeyUsage }
        let signs = usage.contains(.digitalSignature)
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
    /// The rule as a sentence about the certificate.
    public var sentence: String {
        switch self {
        case .signsAndEnciphers: "its key usage has both digital signature and key encipherment"
        case .signsWithNonRepudiation: "its key usage has digital signature and non-repudiation"
        case .signsWithEmailName: "its key usage has digital signature alone, and it holds an e-mail name"
        case .signsWithPrincipalName:
            "its key usage has digital signature alone, and it holds a principal name and no e-mail name"
        case .signsWithoutEmailName: "its key usage has digital signature alone, and it holds no e-mail name"
        case .signsWithoutNames:
            "its key usage has digital signature alone, and it holds neither an e-mail nor a principal name"
        case .enciphersOnly: "its key usage has key encipherment without digital signature"
        case .noKeyUsage: "it has no key usage"
        case .otherKeyUsage: "its key usage has neither digital signature nor key encipherment"
        }
    }
}

extension CredentialType {
    /// The key usage that an identity of this type is good for nothing without; nil where there is none.
    public func expectedKeyUsage(isEllipticCurve: Bool) -> KeyUsage? {
        switch self {
        case .encryption: isEllipticCurve ? .keyAgreement : .keyEncipherment
        case .device, .signature, .authentication: .digitalSignature
        case .multi, .unknown: nil
        }
    }

    /// The extended key usages, dotted, that an identity of this type is good for nothing without; nil where
    /// certificates of the type come with and without any.
    public var expectedExtendedKeyUsage: [String]? {
        switch self {
        case .signature: ["1.3.6.1.5.5.7.3.4"]  // emailProtection
        case .authentication, .device: ["1.3.6.1.5.5.7.3.2"]  // clientAuth
        case .encryption, .multi, .unknown: nil
        }
    }
}
