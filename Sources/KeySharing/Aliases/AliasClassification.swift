/// The type that alias sharing assigns to a certificate, the rule that applied, and warnings about known pitfalls
/// (docs/rules.md R9.4 to R9.10).
///
/// ```swift
/// let facts = CertificateFacts(
///     keyUsage: .digitalSignature, alternativeNames: [.otherName(encodedLength: 32)])
/// let classification = AliasClassification(facts)
/// let type = classification?.type  // .identity
/// let warnings = classification?.warnings  // [.identityInsteadOfPIV]
/// ```
public struct AliasClassification: Sendable, Hashable {
    /// The classification rules. The raw values are stable codes for scripts.
    public enum Rule: String, Sendable, Hashable, CaseIterable {
        /// docs/rules.md R9.4.
        case signsAndEnciphers = "signs-and-enciphers"
        /// docs/rules.md R9.5.
        case enciphers
        /// docs/rules.md R9.6.
        case emailNameFirst = "email-name-first"
        /// docs/rules.md R9.7.
        case longOtherName = "long-other-name"
        /// docs/rules.md R9.8.
        case shortOtherName = "short-other-name"
        /// docs/rules.md R9.9.
        case noDecidingName = "no-deciding-name"
    }

    /// The known pitfalls of alias types. The raw values are stable codes for scripts.
    public enum Warning: String, Sendable, Hashable, CaseIterable {
        /// An otherName decides, and a later name would decide differently.
        case nameOrder = "name-order"
        /// The type is `Identity`.
        case identityInsteadOfPIV = "identity-instead-of-piv"
        /// The type is `Other`, although key sharing considers the certificate a device certificate.
        case otherInsteadOfDevice = "other-instead-of-device"
        /// The elliptic-curve key permits key agreement, which does not count as encipherment.
        case keyAgreementIgnored = "key-agreement-ignored"
    }

    /// The type of the certificate.
    public let type: AliasType
    /// The rule that applied.
    public let rule: Rule
    /// The pitfalls of the certificate, in the order of the cases of `Warning`.
    public let warnings: [Warning]

    /// The longest otherName, in bytes of its DER encoding, that makes a certificate an `Identity` (docs/rules.md
    /// R9.10).
    ///
    /// A principal name of 14 characters, such as `1234567890@mil`, has this length.
    public static let longestShortName = 32

    /// Classifies a certificate. The first matching rule applies.
    ///
    /// Returns nil if ``CertificateFacts/alternativeNames`` is nil, because the order of the names is then unknown.
    public init?(_ facts: CertificateFacts) {
        guard let names = facts.alternativeNames else { return nil }
        self.init(facts, names: names)
    }

    /// Classifies a certificate that has these alternative names.
    package init(_ facts: CertificateFacts, names: [CertificateFacts.AlternativeName]) {
        let usage = facts.keyUsage ?? []
        let byName = names.lazy.compactMap(Self.rule).first ?? .noDecidingName
        let rule: Rule =
            if usage.contains(.keyEncipherment) {
                usage.contains(.digitalSignature) ? .signsAndEnciphers : .enciphers
            } else {
                byName
            }
        self.rule = rule
        type = rule.type
        warnings = Warning.allCases.filter { $0.applies(to: facts, names, under: rule) }
    }

    /// Returns the rule for a certificate whose first relevant name is `name`; nil if the name is not relevant.
    fileprivate static func rule(for name: CertificateFacts.AlternativeName) -> Rule? {
        switch name {
        case .rfc822: .emailNameFirst
        case .otherName(let length): length > longestShortName ? .longOtherName : .shortOtherName
        case .other: nil
        }
    }
}

extension AliasClassification.Rule {
    /// The type that the rule assigns.
    public var type: AliasType {
        switch self {
        case .signsAndEnciphers: .device
        case .enciphers: .encryption
        case .emailNameFirst: .digitalSignature
        case .longOtherName: .pivAuthentication
        case .shortOtherName: .identity
        case .noDecidingName: .other
        }
    }

    /// The rule, as a phrase about the certificate.
    public var message: String {
        switch self {
        case .signsAndEnciphers: "its key usage has both digital signature and key encipherment"
        case .enciphers: "its key usage has key encipherment without digital signature"
        case .emailNameFirst: "the first of its e-mail names and otherNames is an e-mail name"
        case .longOtherName:
            "the first of its e-mail names and otherNames is an otherName of more than 32 bytes"
        case .shortOtherName:
            "the first of its e-mail names and otherNames is an otherName of 32 bytes or fewer"
        case .noDecidingName: "it has neither an e-mail name nor an otherName"
        }
    }
}

extension AliasClassification.Warning {
    /// The meaning of the warning, as a sentence without a full stop.
    public var message: String {
        switch self {
        case .nameOrder: "with its alternative names in another order, it would have another type"
        case .identityInsteadOfPIV:
            "consumers that look for PIV Authentication do not find it: its first otherName has at most 32 bytes, like a principal name with a 10-digit EDIPI, and a 16-digit name would make it PIV Authentication"
        case .otherInsteadOfDevice:
            "key sharing considers it a device certificate, but alias sharing requires both digital signature and key encipherment for Device"
        case .keyAgreementIgnored:
            "alias sharing ignores key agreement, so a certificate that encrypts with an elliptic-curve key is not Encryption"
        }
    }

    fileprivate func applies(
        to facts: CertificateFacts, _ names: [CertificateFacts.AlternativeName],
        under rule: AliasClassification.Rule
    ) -> Bool {
        switch self {
        case .nameOrder:
            [.longOtherName, .shortOtherName].contains(rule)
                && names.compactMap(AliasClassification.rule).contains { $0 != rule }
        case .identityInsteadOfPIV: rule == .shortOtherName
        case .otherInsteadOfDevice:
            rule == .noDecidingName
                && Mechanism.allCases.contains { Classification(facts, under: $0).type == .device }
        case .keyAgreementIgnored:
            facts.isEllipticCurve && facts.keyUsage?.contains(.keyAgreement) == true
                && facts.keyUsage?.contains(.keyEncipherment) == false
        }
    }
}
