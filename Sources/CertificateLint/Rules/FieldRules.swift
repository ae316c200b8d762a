import CertificateReading
import Foundation
import OpenSSL

/// Rules about the fields of a certificate (RFC 5280 4.1).
enum FieldRules {
    typealias Rule = LintRule<LintedCertificate>

    static let all: [Rule] = encoding + validity + names

    private static let encoding: [Rule] = [
        Rule(
            "certificate-not-der", .error, "RFC 5280 4.1", "the certificate is not encoded in DER",
            if: { $0.encoded == nil && $0.certificate.der.count <= EncodedCertificate.largest }),
        Rule(
            "certificate-too-large", .warning, "KeySharing",
            "the certificate is larger than 1 MiB and only partly examined",
            if: { $0.certificate.der.count > EncodedCertificate.largest }),
        Rule(
            "version-not-3", .error, "RFC 5280 4.1.2.1",
            "the certificate has extensions, but its version is not 3",
            if: { !$0.extensions.isEmpty && $0.certificate.version != 3 }),
        Rule(
            "version-outdated", .warning, "RFC 5280 4.1.2.1",
            "the certificate has no extensions, and its version is not 3",
            if: { $0.extensions.isEmpty && $0.certificate.version != 3 }),
        Rule(
            "serial-short", .notice, "CA/B S/MIME BR 7.1", "the serial number has fewer than 64 bits",
            message: {
                let count = $0.certificate.serialNumber.drop { $0 == 0 }.count
                return count < 8 ? "the serial number has \(count) octets, fewer than 64 bits" : nil
            }),
        Rule(
            "signature-algorithms-differ", .error, "RFC 5280 4.1.1.2",
            "the signature algorithms inside and outside the signed part differ",
            if: { $0.encoded.map { $0.innerAlgorithm?.encoded != $0.outerAlgorithm?.encoded } ?? false }),
        Rule(
            "signature-parameters", .error, "RFC 4055 5, RFC 5758 3.2",
            "the parameters of the signature algorithm must be NULL for RSA and absent for ECDSA, EdDSA and DSA",
            if: { SignatureFacts.hasWrongParameters($0.encoded?.outerAlgorithm) }),
        Rule(
            "weak-signature-digest", .error, "NIST SP 800-78-5 3.2, SP 800-131A 3",
            "the certificate is signed with a broken digest",
            message: {
                SignatureFacts.weakDigest($0.encoded?.outerAlgorithm).map {
                    "the signature uses \($0), which is broken"
                }
            }),
        Rule(
            "unique-identifiers", .error, "RFC 5280 4.1.2.8", "the certificate has unique identifiers",
            if: { $0.encoded?.hasUniqueIdentifiers ?? false }),
        Rule(
            "extensions-empty", .error, "RFC 5280 4.1.2.9", "the list of extensions is empty",
            if: { $0.encoded?.hasEmptyExtensions ?? false }),
    ]

    private static let validity: [Rule] = [
        Rule(
            "validity-encoding", .error, "RFC 5280 4.1.2.5",
            "a time must be a UTCTime through 2049 and a GeneralizedTime afterwards",
            if: { $0.encoded.map { !$0.times.allSatisfy(\.hasRightType) } ?? false }),
        Rule(
            "validity-time-format", .error, "RFC 5280 4.1.2.5.1",
            "a time is not in UTC with seconds and without fractions",
            each: {
                ($0.encoded?.times ?? []).filter { !$0.isWellFormed }.map {
                    "the time \u{201C}\($0.text)\u{201D} is not in UTC with seconds and without fractions"
                }
            }),
        Rule(
            "validity-unreadable", .error, "RFC 5280 4.1.2.5", "a time of the validity period does not exist",
            if: { $0.certificate.notBefore == .distantPast || $0.certificate.notAfter == .distantPast }),
        Rule(
            "validity-reversed", .error, "RFC 5280 4.1.2.5", "the validity period ends before it begins",
            if: {
                $0.certificate.notAfter < $0.certificate.notBefore && $0.certificate.notAfter != .distantPast
            }),
        Rule(
            "expired", .notice, "RFC 5280 4.1.2.5", "the certificate has expired",
            if: { $0.date > $0.certificate.notAfter && !$0.certificate.isValid(at: $0.date) }),
        Rule(
            "not-yet-valid", .notice, "RFC 5280 4.1.2.5", "the certificate is not yet valid",
            if: { $0.date < $0.certificate.notBefore }),
        Rule(
            "validity-beyond-issuer", .warning, "FPKI Common Policy 6.3.2",
            "the certificate is valid for longer than its issuer's certificate",
            if: { subject in
                subject.issuer.map { $0 != subject.certificate && $0.notAfter < subject.certificate.notAfter }
                    ?? false
            }),
    ]

    private static let names: [Rule] = [
        Rule(
            "issuer-empty", .error, "RFC 5280 4.1.2.4", "the issuer's name is empty",
            if: { $0.certificate.issuer.isEmpty }),
        Rule(
            "subject-empty-authority", .error, "RFC 5280 4.1.2.6", "an authority has an empty name",
            if: { $0.isAuthority && $0.certificate.subject.isEmpty }),
        Rule(
            "subject-empty", .error, "RFC 5280 4.1.2.6",
            "the subject is empty, and the alternative names are missing or not critical",
            if: {
                $0.certificate.subject.isEmpty && !$0.isAuthority
                    && !$0.has(ExtensionType.subjectAlternativeName, critical: true)
            }),
        Rule(
            "name-country", .error, "RFC 5280 A.1", "a country is not a PrintableString of two letters",
            each: { subject in
                subject.attributes.filter { $0.type == "2.5.4.6" }.compactMap {
                    let isCode =
                        $0.value.tag == .printableString && $0.value.octets.count == 2
                        && $0.value.octets.allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
                    return isCode ? nil : "the country \($0.text) is not a PrintableString of two letters"
                }
            }),
        Rule(
            "name-too-long", .error, "RFC 5280 A.1", "an attribute of a name is longer than allowed",
            each: { subject in
                subject.attributes.compactMap { attribute in
                    guard let most = EncodedAttribute.lengths[attribute.type] else { return nil }
                    let count = attribute.characterCount
                    return count > most
                        ? "\(NamedIdentifier.signature(attribute.type)) has \(count) characters, more than \(most)"
                        : nil
                }
            }),
        Rule(
            "name-empty-value", .error, "RFC 5280 A.1", "an attribute of a name is empty",
            each: { subject in
                subject.attributes.filter { $0.value.octets.isEmpty && !$0.value.isConstructed }.map {
                    "\(NamedIdentifier.signature($0.type)) is empty"
                }
            }),
        Rule(
            "name-email", .error, "RFC 5280 4.1.2.6, RFC 5321 4.1.2",
            "an emailAddress attribute is not an e-mail address",
            each: { subject in
                subject.attributes.filter {
                    $0.type == OID.emailAddress && !NameSyntax.isAddress($0.text)
                }.map { "the emailAddress attribute \u{201C}\($0.text)\u{201D} is not an e-mail address" }
            }),
        Rule(
            "name-attribute-type", .error, "RFC 5280 A.1",
            "an attribute of a name does not have the string type that it requires",
            each: { subject in
                subject.attributes.compactMap {
                    guard let required = EncodedAttribute.stringTypes[$0.type],
                        $0.value.tag != required.tag
                    else { return nil }
                    return "\(NamedIdentifier.signature($0.type)) is not a \(required.name)"
                }
            }),
        Rule(
            "name-string-type", .warning, "RFC 5280 4.1.2.4",
            "a name uses TeletexString, BMPString or UniversalString",
            if: {
                $0.attributes.contains {
                    [.teletexString, .bmpString, .universalString].contains($0.value.tag)
                }
            }),
        Rule(
            "name-characters", .error, "X.680 41.4",
            "a PrintableString or IA5String contains characters that the type does not permit",
            each: { subject in
                subject.attributes.filter { !$0.hasPermittedCharacters }.map {
                    "\(NamedIdentifier.signature($0.type)) contains characters that its string type does not permit"
                }
            }),
    ]
}

extension LintedCertificate {
    /// The attributes of subject and issuer. In a self-issued certificate, both names are equal, so the attributes are
    /// listed once.
    fileprivate var attributes: [EncodedAttribute] {
        guard let encoded else { return [] }
        return encoded.subject + (certificate.isSelfIssued ? [] : encoded.issuer)
    }
}

extension EncodedAttribute {
    /// The maximum number of characters for each attribute type (RFC 5280 A.1, `ub-…`).
    fileprivate static let lengths = [
        "2.5.4.3": 64, "2.5.4.5": 64, "2.5.4.6": 2, "2.5.4.7": 128, "2.5.4.8": 128, "2.5.4.10": 64,
        "2.5.4.11": 64, "2.5.4.12": 64, OID.emailAddress: 255,
    ]

    /// The string types that attribute types require (RFC 5280 A.1). Another rule examines countries.
    fileprivate static let stringTypes: [String: (tag: DERElement.Tag, name: String)] = [
        "2.5.4.5": (.printableString, "PrintableString"), "2.5.4.46": (.printableString, "PrintableString"),
        "0.9.2342.19200300.100.1.25": (.ia5String, "IA5String"), OID.emailAddress: (.ia5String, "IA5String"),
    ]

    fileprivate var text: String { String(decoding: value.octets.prefix(320), as: UTF8.self) }

    fileprivate var characterCount: Int {
        switch value.tag {
        case .bmpString: value.octets.count / 2
        case .universalString: value.octets.count / 4
        default: value.octets.count { $0 & 0xC0 != 0x80 || value.tag != .utf8String }
        }
    }

    fileprivate var hasPermittedCharacters: Bool {
        switch value.tag {
        case .ia5String: value.octets.allSatisfy { $0 < 0x80 }
        case .printableString:
            value.octets.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) && $0 >= 0x41
                    || " '()+,-./:=?".utf8.contains($0)
            }
        case .utf8String: String(validating: value.octets, as: UTF8.self) != nil
        default: true
        }
    }
}

/// Properties of signature algorithms, by object identifier.
enum SignatureFacts {
    /// RSA with PKCS #1 padding, whose parameters are NULL (RFC 4055 5).
    private static let rsa: Set<String> = [
        "1.2.840.113549.1.1.2", "1.2.840.113549.1.1.4", "1.2.840.113549.1.1.5", "1.2.840.113549.1.1.11",
        "1.2.840.113549.1.1.12", "1.2.840.113549.1.1.13", "1.2.840.113549.1.1.14",
    ]
    /// ECDSA, EdDSA and DSA, whose parameters are absent (RFC 5758 3.1 and 3.2, RFC 8410 3).
    private static let withoutParameters: Set<String> = [
        "1.2.840.10045.4.1", "1.2.840.10045.4.3.1", "1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3",
        "1.2.840.10045.4.3.4", "1.3.101.112", "1.3.101.113", "1.2.840.10040.4.3", "2.16.840.1.101.3.4.3.1",
        "2.16.840.1.101.3.4.3.2",
    ]

    static func hasWrongParameters(_ algorithm: EncodedAlgorithm?) -> Bool {
        guard let algorithm else { return false }
        if rsa.contains(algorithm.identifier) { return algorithm.parameters?.tag != .null }
        return withoutParameters.contains(algorithm.identifier) && algorithm.parameters != nil
    }

    /// Returns the name of the signature's digest if that digest is broken; otherwise nil.
    static func weakDigest(_ algorithm: EncodedAlgorithm?) -> String? {
        algorithm.flatMap { weakDigest($0.identifier) }
    }

    static func weakDigest(_ identifier: String) -> String? {
        switch identifier {
        case "1.2.840.113549.1.1.2": "MD2"
        case "1.2.840.113549.1.1.3": "MD4"
        case "1.2.840.113549.1.1.4": "MD5"
        case "1.2.840.113549.1.1.5", "1.3.14.3.2.29", "1.2.840.10045.4.1", "1.2.840.10040.4.3": "SHA-1"
        default: nil
        }
    }
}
