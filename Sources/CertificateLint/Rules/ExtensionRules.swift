import Foundation
import KeySharing
import OpenSSL

/// Rules about the extensions of a certificate (RFC 5280 4.2), except names, policies and locations.
enum ExtensionRules {
    typealias Rule = LintRule<LintedCertificate>

    static let all: [Rule] = structure + identifiers + keyUsage + authority + purposes

    private static let structure: [Rule] = [
        Rule(
            "extension-duplicate", .error, "RFC 5280 4.2", "an extension is present more than once",
            each: { subject in
                var seen: Set<String> = []
                return subject.extensions.filter { !seen.insert($0.oid).inserted }.map {
                    "the extension \($0.name) is present more than once"
                }
            }),
        Rule(
            "extension-malformed", .error, "RFC 5280 4.2", "the contents of an extension cannot be decoded",
            each: { subject in
                let undecodable = Set(subject.certificate.undecodableExtensions)
                let shapes = subject.extensions.filter {
                    !ExtensionShape.fits($0)
                        || ExtensionShape.isStandard($0) && undecodable.contains($0.oid)
                }.map { "the extension \($0.name) cannot be decoded" }
                let others = subject.certificate.defects.filter { $0.hasSuffix("cannot be decoded.") }
                return shapes.isEmpty
                    ? others.map { $0.dropLast().prefix(1).lowercased() + $0.dropLast().dropFirst() } : shapes
            }),
        Rule(
            "extension-unknown-critical", .error, "RFC 5280 4.2",
            "a critical extension is unknown; programs must reject the certificate",
            each: { subject in
                subject.extensions.filter { $0.isCritical && NamedIdentifier.extensions[$0.oid] == nil }.map {
                    "the critical extension \($0.name) is unknown, so programs must reject the certificate"
                }
            }),
        Rule(
            "extension-default-encoded", .error, "X.690 11.5",
            "a value that equals the default is encoded, which DER forbids",
            each: { subject in
                var places = subject.extensions.filter(\.encodesDefault).map { "critical of \($0.name)" }
                if let flag = subject.item(ExtensionType.basicConstraints)?.element?.children.first,
                    flag.tag == .boolean, flag.octets.first == 0
                {
                    places.append("cA of basic constraints")
                }
                return places.map { "\($0) is encoded although it is false, the default" }
            }),
        Rule(
            "boolean-encoding", .error, "X.690 11.1", "a BOOLEAN that is true is not encoded as FF",
            each: { subject in
                var places = subject.extensions.filter(\.hasMalformedFlag).map { "critical of \($0.name)" }
                let fields = subject.item(ExtensionType.basicConstraints)?.element?.children ?? []
                if fields.contains(where: \.isMalformedBoolean) { places.append("cA of basic constraints") }
                return places.map { "\($0) is encoded as neither 00 nor FF" }
            }),
        Rule(
            "bit-string-encoding", .error, "X.690 11.2",
            "a BIT STRING has unused bits that are not zero, or ends in zero bits",
            each: { subject in
                subject.bitLists.filter { !$0.bits.isNamedBitList }.map {
                    "\($0.place) has unused bits that are not zero, or ends in zero bits"
                }
            }),
        Rule(
            "subject-directory-attributes-empty", .error, "RFC 5280 4.2.1.8",
            "the list of subject directory attributes is empty",
            if: { $0.isEmptyList(ExtensionType.subjectDirectoryAttributes) }),
        Rule(
            "subject-directory-attributes-critical", .error, "RFC 5280 4.2.1.8",
            "the subject directory attributes are critical",
            if: { $0.has(ExtensionType.subjectDirectoryAttributes, critical: true) }),
    ]

    private static let identifiers: [Rule] = [
        Rule(
            "authority-key-identifier-missing", .error, "RFC 5280 4.2.1.1",
            "the authority key identifier is missing, although the certificate is not self-signed",
            if: {
                !$0.isSelfSigned && $0.encoded != nil && $0.item(ExtensionType.authorityKeyIdentifier) == nil
            }),
        Rule(
            "authority-key-identifier-incomplete", .error, "RFC 5280 4.2.1.1",
            "the authority key identifier does not identify the key",
            if: {
                guard !$0.isSelfSigned,
                    let identifier = $0.item(ExtensionType.authorityKeyIdentifier)?.element
                else { return false }
                return identifier.tag == .sequence && !identifier.children.contains { $0.tag == .context(0) }
            }),
        Rule(
            "authority-key-identifier-unpaired", .error, "RFC 5280 4.2.1.1",
            "the authority key identifier contains only one of issuer and serial number",
            if: {
                let fields = $0.item(ExtensionType.authorityKeyIdentifier)?.element?.children ?? []
                return fields.contains { $0.tag == .context(1) } != fields.contains { $0.tag == .context(2) }
            }),
        Rule(
            "authority-key-identifier-critical", .error, "RFC 5280 4.2.1.1",
            "the authority key identifier is critical",
            if: { $0.has(ExtensionType.authorityKeyIdentifier, critical: true) }),
        Rule(
            "authority-key-identifier-mismatch", .warning, "RFC 5280 4.2.1.1",
            "the authority key identifier differs from the issuer's subject key identifier",
            if: { subject in
                guard let mine = subject.certificate.authorityKeyIdentifier,
                    let issuers = subject.issuer?.subjectKeyIdentifier
                else { return false }
                return mine != issuers
            }),
        Rule(
            "subject-key-identifier-missing", .error, "RFC 5280 4.2.1.2",
            "an authority has no subject key identifier",
            if: {
                $0.isAuthority && $0.encoded != nil && $0.item(ExtensionType.subjectKeyIdentifier) == nil
            }),
        Rule(
            "subject-key-identifier-absent", .notice, "RFC 5280 4.2.1.2",
            "an end entity has no subject key identifier",
            if: {
                !$0.isAuthority && $0.encoded != nil && $0.item(ExtensionType.subjectKeyIdentifier) == nil
            }),
        Rule(
            "subject-key-identifier-critical", .error, "RFC 5280 4.2.1.2",
            "the subject key identifier is critical",
            if: { $0.has(ExtensionType.subjectKeyIdentifier, critical: true) }),
    ]

    private static let keyUsage: [Rule] = [
        Rule(
            "key-usage-missing", .error, "RFC 5280 4.2.1.3", "an authority has no key usage",
            if: { $0.isAuthority && $0.encoded != nil && $0.item(ExtensionType.keyUsage) == nil }),
        Rule(
            "key-usage-not-critical", .warning, "RFC 5280 4.2.1.3", "the key usage is not critical",
            if: { $0.has(ExtensionType.keyUsage, critical: false) }),
        Rule(
            "key-usage-empty", .error, "RFC 5280 4.2.1.3", "the key usage permits nothing",
            if: { $0.certificate.keyUsage?.isEmpty ?? false }),
        Rule(
            "key-usage-signs-without-authority", .error, "RFC 5280 4.2.1.9",
            "the key usage permits signing certificates, but the subject is not an authority",
            if: { $0.permits(.keyCertSign) && !$0.isAuthority }),
        Rule(
            "key-usage-authority-signs-nothing", .error, "RFC 5280 4.2.1.3",
            "the key usage does not permit an authority to sign certificates",
            if: { $0.isAuthority && $0.certificate.keyUsage != nil && !$0.permits(.keyCertSign) }),
        Rule(
            "key-usage-only-without-agreement", .warning, "RFC 5280 4.2.1.3",
            "encipherOnly and decipherOnly have no meaning without keyAgreement",
            if: { $0.permits([.encipherOnly, .decipherOnly]) && !$0.permits(.keyAgreement) }),
        Rule(
            "key-usage-unfit-for-key", .error, "RFC 3279 2.3, RFC 8813 3, RFC 9295 3",
            "the key usage permits an operation that the key cannot perform",
            message: {
                guard let usage = $0.certificate.keyUsage else { return nil }
                let foreign = usage.intersection(KeyFacts.impossible(for: $0.certificate.publicKey.type))
                guard !foreign.isEmpty else { return nil }
                let name = $0.certificate.publicKey.type.name
                return
                    "the key usage permits \(foreign.names.joined(separator: ", ")), which \(name) keys cannot do"
            }),
    ]

    private static let authority: [Rule] = [
        Rule(
            "basic-constraints-not-critical", .error, "RFC 5280 4.2.1.9",
            "the basic constraints of an authority are not critical",
            if: { $0.isAuthority && $0.has(ExtensionType.basicConstraints, critical: false) }),
        Rule(
            "path-length-without-authority", .error, "RFC 5280 4.2.1.9",
            "a path length is given, but the subject is not an authority that signs certificates",
            if: {
                guard $0.constraints.pathLength != nil else { return false }
                return !$0.isAuthority || $0.certificate.keyUsage != nil && !$0.permits(.keyCertSign)
            }),
        Rule(
            "path-length-negative", .error, "RFC 5280 4.2.1.9", "the path length is negative",
            if: {
                let fields = $0.item(ExtensionType.basicConstraints)?.element?.children ?? []
                return fields.contains { $0.tag == .integer && ($0.octets.first ?? 0) >= 0x80 }
            }),
    ]

    private static let purposes: [Rule] = [
        Rule(
            "extended-key-usage-empty", .error, "RFC 5280 4.2.1.12", "the extended key usage is empty",
            if: { $0.certificate.extendedKeyUsage?.isEmpty ?? false }),
        Rule(
            "extended-key-usage-any", .warning, "RFC 5280 4.2.1.12",
            "the extended key usage contains anyExtendedKeyUsage, which permits every purpose",
            if: { $0.certificate.extendedKeyUsage?.contains(Purpose.any) ?? false }),
        Rule(
            "extended-key-usage-any-critical", .warning, "RFC 5280 4.2.1.12",
            "the extended key usage is critical, although it contains anyExtendedKeyUsage",
            if: {
                $0.has(ExtensionType.extendedKeyUsage, critical: true)
                    && $0.certificate.extendedKeyUsage?.contains(Purpose.any) ?? false
            }),
        Rule(
            "extended-key-usage-duplicate", .warning, "RFC 5280 4.2.1.12",
            "a purpose is present more than once",
            if: {
                let purposes = $0.certificate.extendedKeyUsage ?? []
                return Set(purposes).count < purposes.count
            }),
    ]
}

extension LintedCertificate {
    /// The BIT STRINGs with named bits in the extensions.
    fileprivate var bitLists: [(place: String, bits: DERElement)] {
        let usage = [item(ExtensionType.keyUsage)?.element].compactMap(\.self).filter { $0.tag == .bitString }
        let points = [ExtensionType.distributionPoints, ExtensionType.freshestList].compactMap(item)
            .flatMap { $0.element?.children ?? [] }
        let reasons = points.flatMap(\.children).filter { $0.tag == .context(1) }
        return usage.map { (place: "the key usage", bits: $0) }
            + reasons.map { (place: "the reasons of a distribution point", bits: $0) }
    }
}

/// The outermost ASN.1 type that each standard extension must contain (RFC 5280 A, RFC 3280 4.2.1.4, RFC 6960
/// 4.2.2.2.1).
private enum ExtensionShape {
    private static let shapes: [String: DERElement.Tag] = [
        ExtensionType.subjectDirectoryAttributes: .sequence, ExtensionType.subjectKeyIdentifier: .octetString,
        ExtensionType.keyUsage: .bitString, ExtensionType.privateKeyUsagePeriod: .sequence,
        ExtensionType.noStatusCheck: .null, ExtensionType.subjectAlternativeName: .sequence,
        ExtensionType.issuerAlternativeName: .sequence, ExtensionType.basicConstraints: .sequence,
        ExtensionType.nameConstraints: .sequence, ExtensionType.distributionPoints: .sequence,
        ExtensionType.policies: .sequence, ExtensionType.policyMappings: .sequence,
        ExtensionType.authorityKeyIdentifier: .sequence, ExtensionType.policyConstraints: .sequence,
        ExtensionType.extendedKeyUsage: .sequence, ExtensionType.freshestList: .sequence,
        ExtensionType.inhibitAnyPolicy: .integer, ExtensionType.authorityInformation: .sequence,
        ExtensionType.subjectInformation: .sequence,
    ]

    /// Whether the shape of an extension's contents is known.
    static func isStandard(_ item: EncodedExtension) -> Bool { shapes[item.oid] != nil }

    /// Whether the contents of a standard extension are DER of the right type, and within the limits that OpenSSL's
    /// decoder does not check. Returns true for other extensions.
    static func fits(_ item: EncodedExtension) -> Bool {
        guard let tag = shapes[item.oid] else { return true }
        guard let element = item.element, element.tag == tag else { return false }
        return switch item.oid {
        case ExtensionType.inhibitAnyPolicy: isCount(element)
        case ExtensionType.policyConstraints: element.children.allSatisfy(isCount)
        case ExtensionType.privateKeyUsagePeriod:
            element.children.allSatisfy { EncodedTime.isGeneralizedTime($0.octets) }
        case ExtensionType.nameConstraints:
            element.children.flatMap(\.children).compactMap(\.children.first).allSatisfy(isSubtree)
        default: true
        }
    }

    /// Whether an INTEGER is not negative (SkipCerts, RFC 5280 4.2.1.11 and 4.2.1.14).
    private static func isCount(_ element: DERElement) -> Bool {
        element.octets.first.map { $0 < 0x80 } ?? false
    }

    /// Whether the base of a name constraint is not an IP address, or an address with its mask (RFC 5280 4.2.1.10).
    private static func isSubtree(_ base: DERElement) -> Bool {
        base.tag != .context(7) || [8, 32].contains(base.octets.count)
    }
}
