import CertificateReading
import Foundation
import KeySharing
import OpenSSL

/// Rules about the certificates of people: e-mail (RFC 8550, CA/B S/MIME BR) and PIV (FIPS 201-3).
enum CredentialRules {
    typealias Rule = LintRule<LintedCertificate>

    static let all: [Rule] = mail + piv

    private static let mail: [Rule] = [
        Rule(
            "mail-key-usage", .error, "RFC 8550 4.4.2",
            "the key usage of an e-mail certificate permits neither signatures nor encryption",
            if: {
                $0.isForMail && $0.certificate.keyUsage != nil
                    && !$0.permits([.digitalSignature, .nonRepudiation, .keyEncipherment, .keyAgreement])
            }),
        Rule(
            "mail-address-missing", .warning, "RFC 8550 3, CA/B S/MIME BR 7.1.4.2",
            "an e-mail certificate contains no e-mail address",
            if: { $0.isForMail && $0.addresses.isEmpty && $0.subjectAddresses.isEmpty }),
        Rule(
            "mail-address-in-subject-only", .error, "RFC 5280 4.1.2.6, RFC 8550 3",
            "an e-mail address of the subject is missing from the alternative names",
            each: { subject in
                let names = Set(subject.addresses.map { $0.lowercased() })
                return subject.subjectAddresses.filter { !names.contains($0.lowercased()) }.map {
                    "the subject's e-mail address \($0) is missing from the alternative names"
                }
            }),
        Rule(
            "mail-purpose-missing", .notice, "RFC 8550 4.4.4",
            "the extended key usage of a certificate with an e-mail address does not include e-mail protection",
            if: {
                guard let purposes = $0.certificate.extendedKeyUsage, !$0.isAuthority else { return false }
                return !$0.addresses.isEmpty && !purposes.contains(Purpose.emailProtection)
                    && !purposes.contains(Purpose.any)
            }),
        Rule(
            "mail-validity-long", .notice, "CA/B S/MIME BR 6.3.2",
            "an e-mail certificate is valid for more than 825 days (strict and multipurpose profiles)",
            message: {
                let days = $0.days
                guard $0.isForMail, days > 825, days <= 1_185 else { return nil }
                return
                    "an e-mail certificate is valid for \(Int(days.rounded())) days, more than 825 (strict, multipurpose)"
            }),
        Rule(
            "mail-validity-too-long", .notice, "CA/B S/MIME BR 6.3.2",
            "an e-mail certificate is valid for more than 1,185 days (every profile)",
            message: {
                let days = $0.days
                guard $0.isForMail, days > 1_185 else { return nil }
                return "an e-mail certificate is valid for \(Int(days.rounded())) days, more than 1,185"
            }),
    ]

    private static let piv: [Rule] = [
        Rule(
            "piv-key-usage", .error, "FIPS 201-3 4.2.2.1, FPKI Common Profiles",
            "the key usage of a PIV authentication certificate is not exactly digitalSignature",
            if: {
                ($0.isPIVAuthentication || $0.isDerivedPIV) && !$0.isAuthority
                    && $0.certificate.keyUsage != .digitalSignature
            }),
        Rule(
            "piv-fascn-missing", .error, "FIPS 201-3 4.2.2.1",
            "a PIV authentication certificate contains no FASC-N",
            if: { $0.isPIVAuthentication && !$0.isAuthority && !$0.hasFASCN }),
        Rule(
            "piv-uuid-missing", .error, "FIPS 201-3 4.2.2.1, SP 800-157 3.4",
            "a PIV authentication certificate does not contain the card's UUID",
            if: { ($0.isPIVAuthentication || $0.isDerivedPIV) && !$0.isAuthority && !$0.hasUUID }),
        Rule(
            "derived-piv-fascn", .error, "SP 800-157 B.1", "a derived PIV credential contains a FASC-N",
            if: { $0.isDerivedPIV && !$0.isAuthority && $0.hasFASCN }),
        Rule(
            "piv-rsa-key-size", .notice, "NIST SP 800-78-5 3.1",
            "the RSA key of a PIV certificate has neither 2,048 nor 3,072 bits",
            message: {
                guard $0.isPIVAuthentication || $0.isDerivedPIV || $0.hasFASCN, !$0.isAuthority,
                    $0.certificate.publicKey.type == .rsa
                else { return nil }
                let bits = $0.certificate.publicKey.bits
                return [2_048, 3_072].contains(bits)
                    ? nil : "the RSA key of a PIV certificate has \(bits) bits, neither 2,048 nor 3,072"
            }),
        Rule(
            "piv-card-authentication-purpose", .error, "FIPS 201-3 4.2.2.1, B.1",
            "the extended key usage for card authentication is not critical, or includes other purposes",
            if: {
                guard let purposes = $0.certificate.extendedKeyUsage,
                    purposes.contains(Purpose.cardAuthentication)
                else { return false }
                return purposes.count > 1 || $0.has(ExtensionType.extendedKeyUsage, critical: false)
            }),
    ]

    /// Rules that report the irregularities of ``CertificateFinding``, a type that other modules also use. All are
    /// errors, because no standard profile permits them.
    static let names: [Rule] = CertificateFinding.Code.allCases.map { code in
        Rule(code.rawValue, .error, reference(code), meaning(code)) { subject in
            subject.irregularities.filter { $0.code == code }.map(\.message)
        }
    }

    private static func reference(_ code: CertificateFinding.Code) -> String {
        switch code {
        case .serialNotPositive, .serialTooLong: "RFC 5280 4.1.2.2"
        case .damagedFASCN, .foreignFASCN: "FIPS 201-3 4.2.1"
        case .malformedPrincipalName, .foreignPrincipalName, .foreignAffiliation: "MS-WCCE, DoD PKI profiles"
        case .malformedUUID: "RFC 9562 4"
        case .damagedSecurityIdentifier, .foreignSecurityIdentifier: "MS-WCCE 2.2.2.7.7.4"
        }
    }

    private static func meaning(_ code: CertificateFinding.Code) -> String {
        switch code {
        case .serialNotPositive: "the serial number is not greater than zero"
        case .serialTooLong: "the serial number has more than 20 octets"
        case .damagedFASCN: "the FASC-N cannot be decoded"
        case .foreignFASCN: "the FASC-N identifies a different person than the common name"
        case .malformedPrincipalName: "the principal name is not a UTF8String"
        case .foreignPrincipalName:
            "the principal name identifies a different person than the common name or the FASC-N"
        case .foreignAffiliation: "the principal name and the FASC-N specify different affiliations"
        case .malformedUUID: "a `urn:uuid:` does not contain a UUID"
        case .damagedSecurityIdentifier: "the security identifier cannot be decoded"
        case .foreignSecurityIdentifier: "the security identifier and the URI identify different accounts"
        }
    }
}
