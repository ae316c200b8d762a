/// The type of a certificate under the rules of both mechanisms, with warnings about known pitfalls (docs/rules.md
/// R5.12).
///
/// ```swift
/// let report = ClassificationReport(CertificateFacts(keyUsage: nil))
/// let types = [report.keySharing2025.type, report.legacy.type]  // [.unknown, .device]
/// let warnings = report.warnings.map(\.message)
/// ```
public struct ClassificationReport: Sendable, Hashable {
    /// The known pitfalls of classification. The raw values are stable codes for scripts.
    public enum Warning: String, Sendable, Hashable, CaseIterable {
        /// The two mechanisms assign different types to the certificate.
        case mechanismsDiffer = "mechanisms-differ"
        /// An elliptic-curve key permits key agreement instead of key encipherment.
        case ellipticKeyAgreement = "elliptic-key-agreement"
        /// The names are those of an authentication certificate, but the e-mail name makes it a signature certificate.
        case emailNameInAuthentication = "email-name-in-authentication"
        /// The certificate has no key usage.
        case noKeyUsage = "no-key-usage"
        /// The type of the certificate is unknown under at least one mechanism.
        case unknownType = "unknown-type"
    }

    /// The facts that were classified.
    public let facts: CertificateFacts
    /// The classification under the rules of 2025.
    public let keySharing2025: Classification
    /// The classification under the legacy rules.
    public let legacy: Classification
    /// The pitfalls of the certificate, in the order of the cases of `Warning`.
    public let warnings: [Warning]

    /// Classifies a certificate under both mechanisms.
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
    /// The meaning of the warning, as a sentence without a full stop.
    public var message: String {
        switch self {
        case .mechanismsDiffer: "the two mechanisms assign different types to this certificate"
        case .ellipticKeyAgreement:
            "key agreement counts as key encipherment for elliptic-curve keys; consumers that support only RSA treat its type as unknown"
        case .emailNameInAuthentication:
            "its e-mail name makes it a signature certificate, although it looks like an authentication certificate"
        case .noKeyUsage: "without a key usage, its type is unknown in 2025 and device in legacy"
        case .unknownType:
            "identities of unknown type are listed at the root and under no-filter (2025), or under all (legacy), and nowhere else"
        }
    }
}
