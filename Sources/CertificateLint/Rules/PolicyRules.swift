import Foundation
import OpenSSL

/// Rules about policies, and about the URLs of revocation lists and other information (RFC 5280 4.2.1.4 to 4.2.2.2).
enum PolicyRules {
    typealias Rule = LintRule<LintedCertificate>

    static let all: [Rule] = policies + locations

    private static let policies: [Rule] = [
        Rule(
            "policies-empty", .error, "RFC 5280 4.2.1.4", "the list of policies is empty",
            if: { $0.isEmptyList(ExtensionType.policies) }),
        Rule(
            "policy-duplicate", .error, "RFC 5280 4.2.1.4", "a policy is present more than once",
            each: { subject in
                var seen: Set<String> = []
                return subject.certificate.policies.filter { !seen.insert($0).inserted }.map {
                    "the policy \(NamedIdentifier.policy($0)) is present more than once"
                }
            }),
        Rule(
            "policy-qualifiers-empty", .error, "RFC 5280 4.2.1.4",
            "the list of a policy's qualifiers is empty",
            if: {
                let policies = $0.item(ExtensionType.policies)?.element?.children ?? []
                return policies.flatMap { $0.children.dropFirst() }.contains {
                    $0.tag == .sequence && $0.children.isEmpty
                }
            }),
        Rule(
            "policy-qualifier-critical", .error, "RFC 5280 4.2.1.4",
            "the policies are critical and have a qualifier of an unknown type",
            if: { $0.constraints.hasUnknownCriticalQualifier }),
        Rule(
            "policy-notice-encoding", .error, "RFC 6818 3",
            "the text of a user notice is not a UTF8String, VisibleString or BMPString",
            if: {
                $0.notices.contains {
                    $0.noticeText.map {
                        ![.utf8String, .visibleString, .bmpString].contains($0.tag)
                    } ?? false
                }
            }),
        Rule(
            "policy-notice-string-type", .warning, "RFC 6818 3",
            "the text of a user notice is a VisibleString or BMPString instead of a UTF8String",
            if: {
                $0.notices.contains {
                    $0.noticeText.map { [.visibleString, .bmpString].contains($0.tag) } ?? false
                }
            }),
        Rule(
            "policy-notice-long", .warning, "RFC 5280 4.2.1.4",
            "the text of a user notice is longer than 200 characters",
            if: { $0.notices.contains { ($0.noticeText?.characterCount ?? 0) > 200 } }),
        Rule(
            "policy-notice-reference", .warning, "RFC 5280 4.2.1.4", "a user notice has a noticeRef",
            if: { $0.notices.contains { $0.children.contains { $0.tag == .sequence } } }),
        Rule(
            "policy-mapping-any", .error, "RFC 5280 4.2.1.5", "a policy mapping contains anyPolicy",
            if: {
                $0.constraints.policyMappings.contains {
                    $0.issuerPolicy == "2.5.29.32.0" || $0.subjectPolicy == "2.5.29.32.0"
                }
            }),
        Rule(
            "policy-mappings-not-critical", .notice, "RFC 5280 4.2.1.5",
            "the policy mappings are not critical",
            if: { $0.has(ExtensionType.policyMappings, critical: false) }),
        Rule(
            "policy-constraints-empty", .error, "RFC 5280 4.2.1.11", "the policy constraints are empty",
            if: { $0.isEmptyList(ExtensionType.policyConstraints) }),
        Rule(
            "policy-constraints-not-critical", .error, "RFC 5280 4.2.1.11",
            "the policy constraints are not critical",
            if: { $0.has(ExtensionType.policyConstraints, critical: false) }),
        Rule(
            "inhibit-any-policy-not-critical", .error, "RFC 5280 4.2.1.14",
            "the inhibitAnyPolicy extension is not critical",
            if: { $0.has(ExtensionType.inhibitAnyPolicy, critical: false) }),
        Rule(
            "policy-extension-end-entity", .warning, "RFC 5280 4.2.1.5, 4.2.1.11, 4.2.1.14",
            "the certificate of an end entity has an extension that is only for authorities",
            each: { subject in
                guard !subject.isAuthority else { return [] }
                return [
                    ExtensionType.policyMappings, ExtensionType.policyConstraints,
                    ExtensionType.inhibitAnyPolicy,
                ].compactMap(subject.item).map {
                    "the certificate of an end entity has the extension \($0.name)"
                }
            }),
    ]

    private static let locations: [Rule] = [
        Rule(
            "distribution-points-critical", .warning, "RFC 5280 4.2.1.13",
            "the CRL distribution points are critical",
            if: { $0.has(ExtensionType.distributionPoints, critical: true) }),
        Rule(
            "distribution-points-empty", .error, "RFC 5280 4.2.1.13",
            "the list of CRL distribution points is empty",
            if: { $0.isEmptyList(ExtensionType.distributionPoints) }),
        Rule(
            "distribution-point-without-place", .error, "RFC 5280 4.2.1.13",
            "a CRL distribution point has neither a name nor an issuer",
            if: {
                ($0.item(ExtensionType.distributionPoints)?.element?.children ?? []).contains { point in
                    !point.children.contains { [.context(0), .context(2)].contains($0.tag) }
                }
            }),
        Rule(
            "distribution-point-uri", .error, "RFC 5280 4.2.1.13",
            "the URI of a CRL is not absolute, or its host is incomplete",
            each: { subject in
                subject.certificate.distributionPoints.flatMap(\.urls).filter { !NameSyntax.isURI($0) }.map {
                    "the URI of a CRL, \u{201C}\($0)\u{201D}, is not absolute, or its host is incomplete"
                }
            }),
        Rule(
            "freshest-crl-critical", .error, "RFC 5280 4.2.1.15", "the freshest CRL extension is critical",
            if: { $0.has(ExtensionType.freshestList, critical: true) }),
        Rule(
            "information-access-critical", .error, "RFC 5280 4.2.2",
            "an information access extension is critical",
            if: {
                $0.has(ExtensionType.authorityInformation, critical: true)
                    || $0.has(ExtensionType.subjectInformation, critical: true)
            }),
        Rule(
            "information-access-empty", .error, "RFC 5280 4.2.2.1",
            "an information access extension is empty",
            if: {
                $0.isEmptyList(ExtensionType.authorityInformation)
                    || $0.isEmptyList(ExtensionType.subjectInformation)
            }),
        Rule(
            "information-access-uri", .error, "RFC 5280 4.2.2.1",
            "the URI of the issuer's certificate or OCSP responder is not absolute, or its host is incomplete",
            each: { subject in
                (subject.certificate.responderURLs + subject.certificate.issuerURLs)
                    .filter { !NameSyntax.isURI($0) }.map {
                        "the URI of issuer information, \u{201C}\($0)\u{201D}, is not absolute, or its host is incomplete"
                    }
            }),
    ]
}

extension LintedCertificate {
    /// Whether an extension contains an empty SEQUENCE.
    func isEmptyList(_ oid: String) -> Bool {
        item(oid)?.element.map { $0.tag == .sequence && $0.children.isEmpty } ?? false
    }

    /// The user notices among the qualifiers of the policies (RFC 5280 4.2.1.4).
    fileprivate var notices: [DERElement] {
        let policies = item(ExtensionType.policies)?.element?.children ?? []
        let qualifiers = policies.flatMap { $0.children.dropFirst() }.flatMap(\.children)
        return qualifiers.compactMap {
            $0.children.first?.objectIdentifier == "1.3.6.1.5.5.7.2.2" ? $0.children.last : nil
        }
    }
}

extension DERElement {
    /// The explicitText field of this user notice; nil if it is absent.
    fileprivate var noticeText: DERElement? { children.first { $0.tag != .sequence } }

    /// The number of characters of this string.
    fileprivate var characterCount: Int {
        switch tag {
        case .utf8String: String(decoding: octets, as: UTF8.self).unicodeScalars.count
        case .bmpString: octets.count / 2
        default: octets.count
        }
    }
}
