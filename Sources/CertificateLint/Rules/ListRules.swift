import Foundation
import OpenSSL

/// Rules about certificate revocation lists (RFC 5280 5).
enum ListRules {
    typealias Rule = LintRule<EncodedList>

    static let all: [Rule] = fields + extensions + entries

    private static let fields: [Rule] = [
        Rule(
            "list-not-der", .error, "RFC 5280 5.1",
            "the list is not encoded in DER, or is too large to be examined",
            if: { !$0.isDER }),
        Rule(
            "list-version", .error, "RFC 5280 5.1.2.1", "the list has extensions, but its version is not 2",
            if: {
                $0.version != 1
                    && (!$0.extensions.isEmpty || $0.entries.contains { !$0.extensions.isEmpty })
            }),
        Rule(
            "list-version-outdated", .warning, "RFC 5280 5.1.2.1",
            "the list has no extensions, and its version is not 2",
            if: {
                $0.isDER && $0.version != 1 && $0.extensions.isEmpty
                    && $0.entries.allSatisfy { $0.extensions.isEmpty }
            }),
        Rule(
            "list-signature-algorithms-differ", .error, "RFC 5280 5.1.1.2",
            "the signature algorithms inside and outside the signed part differ",
            if: { $0.isDER && $0.innerAlgorithm?.encoded != $0.outerAlgorithm?.encoded }),
        Rule(
            "list-weak-signature-digest", .error, "NIST SP 800-78-5 3.2, SP 800-131A 3",
            "the list is signed with a broken digest",
            message: {
                SignatureFacts.weakDigest($0.outerAlgorithm).map {
                    "the signature uses \($0), which is broken"
                }
            }),
        Rule(
            "list-issuer-empty", .error, "RFC 5280 5.1.2.3", "the issuer's name is empty",
            if: { $0.list.issuer.isEmpty }),
        Rule(
            "list-time-encoding", .error, "RFC 5280 5.1.2.4",
            "a time must be a UTCTime through 2049 and a GeneralizedTime afterwards",
            if: { !$0.times.allSatisfy(\.hasRightType) }),
        Rule(
            "list-time-format", .error, "RFC 5280 5.1.2.4",
            "a time is not in UTC with seconds and without fractions",
            if: { !$0.times.allSatisfy(\.isWellFormed) }),
        Rule(
            "list-next-update-missing", .error, "RFC 5280 5.1.2.5", "nextUpdate is missing",
            if: { $0.list.nextUpdate == nil }),
        Rule(
            "list-next-update-reversed", .error, "RFC 5280 5.1.2.5", "nextUpdate is before thisUpdate",
            if: { subject in subject.list.nextUpdate.map { $0 < subject.list.thisUpdate } ?? false }),
        Rule(
            "list-expired", .notice, "RFC 5280 5.1.2.5",
            "nextUpdate has passed, so a newer list should exist",
            if: { subject in subject.list.nextUpdate.map { $0 < subject.date } ?? false }),
        Rule(
            "list-not-yet-valid", .notice, "RFC 5280 5.1.2.4", "thisUpdate is in the future",
            if: { $0.date < $0.list.thisUpdate }),
    ]

    private static let extensions: [Rule] = [
        Rule(
            "list-extension-duplicate", .error, "RFC 5280 5.2", "an extension is present more than once",
            if: { Set($0.extensions.map(\.oid)).count < $0.extensions.count }),
        Rule(
            "list-extension-malformed", .error, "RFC 5280 5.2",
            "the contents of an extension cannot be decoded",
            each: { subject in
                subject.extensions.filter { !ListExtensionShape.fits($0) }.map {
                    "the extension \($0.name) cannot be decoded"
                }
            }),
        Rule(
            "list-boolean-encoding", .error, "X.690 11.1", "a BOOLEAN that is true is not encoded as FF",
            if: {
                $0.extensions.contains(where: \.hasMalformedFlag)
                    || $0.entries.contains { $0.extensions.contains(where: \.hasMalformedFlag) }
            }),
        Rule(
            "list-extension-unknown-critical", .error, "RFC 5280 5.2",
            "a critical extension is unknown, so programs must not use the list",
            each: { subject in
                subject.extensions.filter { $0.isCritical && NamedIdentifier.extensions[$0.oid] == nil }.map {
                    "the critical extension \($0.name) is unknown, so programs must not use the list"
                }
            }),
        Rule(
            "list-authority-key-identifier-missing", .error, "RFC 5280 5.2.1",
            "the authority key identifier is missing",
            if: { $0.isVersion2 && $0.item(ExtensionType.authorityKeyIdentifier) == nil }),
        Rule(
            "list-number-missing", .error, "RFC 5280 5.2.3", "the list number is missing",
            if: { $0.isVersion2 && $0.item(ExtensionType.crlNumber) == nil }),
        Rule(
            "list-number-too-long", .error, "RFC 5280 5.2.3", "the list number has more than 20 octets",
            if: { ($0.item(ExtensionType.crlNumber)?.element?.octets.count ?? 0) > 20 }),
        Rule(
            "list-number-negative", .error, "RFC 5280 5.2.3", "the list number is negative",
            if: { ($0.item(ExtensionType.crlNumber)?.element?.octets.first ?? 0) >= 0x80 }),
        Rule(
            "list-number-critical", .error, "RFC 5280 5.2.3", "the list number is critical",
            if: { $0.item(ExtensionType.crlNumber)?.isCritical ?? false }),
        Rule(
            "list-delta-not-critical", .error, "RFC 5280 5.2.4", "the delta CRL indicator is not critical",
            if: { $0.item(ExtensionType.deltaIndicator).map { !$0.isCritical } ?? false }),
        Rule(
            "list-delta-base-newer", .error, "RFC 5280 5.2.4",
            "the base of the delta list is not older than the list itself",
            if: {
                guard
                    let base = $0.item(ExtensionType.deltaIndicator)?.element?.octets.drop(while: { $0 == 0 }
                    ),
                    let number = $0.list.number?.drop(while: { $0 == 0 })
                else { return false }
                return base.count > number.count
                    || base.count == number.count && !base.lexicographicallyPrecedes(number)
            }),
        Rule(
            "list-delta-freshest", .error, "RFC 5280 5.2.6", "a delta list has a freshest CRL extension",
            if: {
                $0.item(ExtensionType.deltaIndicator) != nil && $0.item(ExtensionType.freshestList) != nil
            }),
        Rule(
            "list-scope-not-critical", .error, "RFC 5280 5.2.5",
            "the issuing distribution point is not critical",
            if: { $0.item(ExtensionType.issuingDistributionPoint).map { !$0.isCritical } ?? false }),
        Rule(
            "list-scope-empty", .error, "RFC 5280 5.2.5", "the issuing distribution point is empty",
            if: { $0.item(ExtensionType.issuingDistributionPoint)?.element?.children.isEmpty ?? false }),
        Rule(
            "list-scope-contradictory", .error, "RFC 5280 5.2.5",
            "the issuing distribution point restricts the list to more than one kind of certificate",
            if: {
                // onlyContainsUserCerts, onlyContainsCACerts and onlyContainsAttributeCerts.
                let fields = $0.item(ExtensionType.issuingDistributionPoint)?.element?.children ?? []
                return fields.count { [.context(1), .context(2), .context(5)].contains($0.tag) } > 1
            }),
    ]

    private static let entries: [Rule] = [
        Rule(
            "list-entries-empty", .error, "RFC 5280 5.1.2.6",
            "the list of revoked certificates is present but empty",
            if: \.hasEmptyEntries),
        Rule(
            "list-entry-extension-malformed", .error, "RFC 5280 5.3",
            "the contents of an entry's extension cannot be decoded",
            each: {
                $0.entries(
                    where: { !$0.extensions.allSatisfy(ListExtensionShape.fits) },
                    "the contents of an extension cannot be decoded")
            }),
        Rule(
            "list-entry-reason-unspecified", .warning, "RFC 5280 5.3.1",
            "the reason code \u{201C}unspecified\u{201D} must be omitted",
            each: {
                $0.entries(
                    where: { $0.reason == 0 }, "the reason code \u{201C}unspecified\u{201D} must be omitted")
            }),
        Rule(
            "list-entry-reason-unknown", .error, "RFC 5280 5.3.1", "the reason code is undefined",
            each: {
                $0.entries(
                    where: { $0.reason.map { $0 == 7 || $0 > 10 } ?? false }, "the reason code is undefined")
            }),
        Rule(
            "list-entry-reason-remove", .error, "RFC 5280 5.3.1",
            "removeFromCRL is in a list that is not a delta list",
            each: {
                $0.item(ExtensionType.deltaIndicator) != nil
                    ? [] : $0.entries(where: { $0.reason == 8 }, "removeFromCRL is only for delta lists")
            }),
        Rule(
            "list-entry-reason-critical", .error, "RFC 5280 5.3.1", "a reason code is critical",
            each: {
                $0.entries(
                    where: { $0.item(ExtensionType.reason)?.isCritical ?? false },
                    "the reason code is critical")
            }),
        Rule(
            "list-entry-issuer-direct", .error, "RFC 5280 5.3.3",
            "the certificateIssuer extension is in a list that is not an indirect list",
            each: {
                $0.hasIndirectFlag
                    ? []
                    : $0.entries(
                        where: { $0.item(ExtensionType.certificateIssuer) != nil },
                        "the certificate issuer is only for indirect lists")
            }),
        Rule(
            "list-entry-issuer-not-critical", .error, "RFC 5280 5.3.3",
            "the certificateIssuer extension of an entry is not critical",
            each: {
                $0.entries(
                    where: { $0.item(ExtensionType.certificateIssuer).map { !$0.isCritical } ?? false },
                    "the certificate issuer is not critical")
            }),
        Rule(
            "list-entry-unknown-critical", .error, "RFC 5280 5.3",
            "an entry has an unknown critical extension",
            each: {
                $0.entries(
                    where: {
                        $0.extensions.contains { $0.isCritical && NamedIdentifier.extensions[$0.oid] == nil }
                    },
                    "a critical extension is unknown")
            }),
        Rule(
            "list-entry-serial", .warning, "RFC 5280 4.1.2.2",
            "a serial number is not positive, or has more than 20 octets",
            each: {
                $0.entries(
                    where: { entry in
                        let digits = entry.serial.drop { $0 == 0 }
                        return digits.isEmpty || entry.serial.count > 20 || entry.serial[0] >= 0x80
                    }, "the serial number is not positive, or has more than 20 octets")
            }),
        Rule(
            "list-entry-duplicate", .error, "RFC 5280 5.1.2.6", "a certificate is listed more than once",
            each: { subject in
                guard !subject.isIndirect else { return [] }
                var seen: Set<[UInt8]> = []
                return subject.entries.filter { !seen.insert($0.serial).inserted }.map {
                    "the certificate \($0.name) is listed more than once"
                }
            }),
    ]
}

/// The ASN.1 types of the extensions of lists and entries (RFC 5280 5.2 and 5.3).
private enum ListExtensionShape {
    private static let shapes: [String: DERElement.Tag] = [
        ExtensionType.authorityKeyIdentifier: .sequence, ExtensionType.issuerAlternativeName: .sequence,
        ExtensionType.crlNumber: .integer, ExtensionType.deltaIndicator: .integer,
        ExtensionType.issuingDistributionPoint: .sequence, ExtensionType.freshestList: .sequence,
        ExtensionType.authorityInformation: .sequence, ExtensionType.reason: .enumerated,
        ExtensionType.invalidityDate: .generalizedTime, ExtensionType.certificateIssuer: .sequence,
    ]

    /// Whether the contents of an extension are DER of the right type. Returns true for other extensions.
    static func fits(_ item: EncodedExtension) -> Bool {
        guard let tag = shapes[item.oid] else { return true }
        guard let element = item.element, element.tag == tag else { return false }
        return switch item.oid {
        case ExtensionType.crlNumber, ExtensionType.deltaIndicator, ExtensionType.reason:
            !element.octets.isEmpty
        case ExtensionType.invalidityDate: EncodedTime.isGeneralizedTime(element.octets)
        // The issuer's name is a directoryName.
        case ExtensionType.certificateIssuer: element.children.contains { $0.tag == .context(4) }
        default: true
        }
    }
}
