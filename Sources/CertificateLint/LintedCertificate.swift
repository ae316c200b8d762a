import CertificateReading
import Foundation
import KeySharing
import OpenSSL

/// A certificate with the values that the rules examine, computed once.
struct LintedCertificate: Sendable {
    let certificate: Certificate
    /// The encoded fields; nil if the certificate is not DER or is too large.
    let encoded: EncodedCertificate?
    let date: Date
    /// The issuer's certificate; nil if it is unknown.
    let issuer: Certificate?
    let isSelfSigned: Bool
    let constraints: AuthorityConstraints
    let irregularities: [CertificateFinding]

    init(_ certificate: Certificate, at date: Date, issuer: Certificate?) {
        self.certificate = certificate
        self.date = date
        self.issuer = issuer
        encoded = EncodedCertificate(certificate.der)
        isSelfSigned = certificate.isSelfIssued && certificate.isSelfSigned
        constraints = AuthorityConstraints(of: certificate)
        irregularities = CertificateFinding.all(in: certificate)
    }

    var extensions: [EncodedExtension] { encoded?.extensions ?? [] }

    /// Returns the first extension with this object identifier.
    func item(_ oid: String) -> EncodedExtension? { extensions.first { $0.oid == oid } }

    /// Whether an extension is present and its critical flag has this value.
    func has(_ oid: String, critical: Bool) -> Bool { item(oid).map { $0.isCritical == critical } ?? false }

    /// Whether the basic constraints identify the subject as an authority.
    var isAuthority: Bool { certificate.isCertificateAuthority }

    /// Whether the certificate has a key usage that permits at least one of these operations.
    func permits(_ usage: KeyUsage) -> Bool {
        certificate.keyUsage.map { !$0.isDisjoint(with: usage) } ?? false
    }

    /// Whether the certificate is for e-mail (RFC 8550 4.4.4): its extended key usage includes e-mail protection or, if
    /// it has no extended key usage, its alternative names include an e-mail address. False for an authority.
    var isForMail: Bool {
        guard !isAuthority else { return false }
        return certificate.extendedKeyUsage?.contains(Purpose.emailProtection) ?? !addresses.isEmpty
    }

    /// The e-mail addresses among the alternative names.
    var addresses: [String] {
        certificate.subjectAlternativeNames.compactMap {
            if case .rfc822Name(let address) = $0 { address } else { nil }
        }
    }

    /// The alternative names of the subject and the issuer. Of the issuer's, only those whose syntax the rules check.
    var alternativeNames: [GeneralName] {
        let issuers = item(ExtensionType.issuerAlternativeName)?.element?.children ?? []
        return certificate.subjectAlternativeNames
            + issuers.compactMap { name -> GeneralName? in
                guard name.octets.count <= Self.longestName else { return nil }
                let octets = name.octets
                let text = String(decoding: octets, as: UTF8.self)
                return switch name.tag {
                case .context(1): .rfc822Name(text)
                case .context(2): .dNSName(text)
                case .context(6): .uniformResourceIdentifier(text)
                case .context(7): .iPAddress(Array(octets))
                default: nil
                }
            }
    }

    /// The maximum number of octets of one of the issuer's alternative names that are examined.
    private static let longestName = 4_096

    /// The e-mail addresses of the subject (PKCS #9 emailAddress).
    var subjectAddresses: [String] { certificate.subject.values(of: OID.emailAddress) }

    /// Whether the certificate has the policy for PIV authentication. The corresponding test policy counts only
    /// together with the purpose smart card logon, because test certificates of derived credentials also contain that
    /// policy.
    var isPIVAuthentication: Bool {
        let policies = certificate.policies
        if policies.contains("2.16.840.1.101.3.2.1.3.13") { return true }
        let purposes = certificate.extendedKeyUsage ?? []
        return policies.contains("2.16.840.1.101.3.2.1.48.11") && purposes.contains("1.3.6.1.4.1.311.20.2.2")
    }

    /// Whether the certificate is a derived PIV credential (SP 800-157).
    var isDerivedPIV: Bool {
        let policies: Set = [
            "2.16.840.1.101.3.2.1.3.40", "2.16.840.1.101.3.2.1.3.41", "2.16.840.1.101.3.2.1.48.109",
            "2.16.840.1.101.3.2.1.48.110",
        ]
        return !policies.isDisjoint(with: certificate.policies)
    }

    var hasFASCN: Bool {
        certificate.subjectAlternativeNames.contains {
            if case .otherName(GeneralName.fascnType, _) = $0 { true } else { false }
        }
    }

    var hasUUID: Bool {
        certificate.subjectAlternativeNames.contains {
            if case .uniformResourceIdentifier(let text) = $0 {
                text.lowercased().hasPrefix("urn:uuid:")
            } else {
                false
            }
        }
    }

    /// The length of the validity period in days, including both ends.
    var days: Double { (certificate.notAfter.timeIntervalSince(certificate.notBefore) + 1) / 86_400 }
}

/// The object identifiers of extended key usages that several rules use.
enum Purpose {
    static let any = "2.5.29.37.0"
    static let emailProtection = "1.3.6.1.5.5.7.3.4"
    static let cardAuthentication = "2.16.840.1.101.3.6.8"
}

/// The object identifiers of extensions that the rules use (RFC 5280 4.2 and 5.2).
enum ExtensionType {
    static let subjectDirectoryAttributes = "2.5.29.9"
    static let subjectKeyIdentifier = "2.5.29.14"
    static let keyUsage = "2.5.29.15"
    static let privateKeyUsagePeriod = "2.5.29.16"
    static let subjectAlternativeName = "2.5.29.17"
    static let issuerAlternativeName = "2.5.29.18"
    static let basicConstraints = "2.5.29.19"
    static let crlNumber = "2.5.29.20"
    static let reason = "2.5.29.21"
    static let invalidityDate = "2.5.29.24"
    static let deltaIndicator = "2.5.29.27"
    static let issuingDistributionPoint = "2.5.29.28"
    static let certificateIssuer = "2.5.29.29"
    static let nameConstraints = "2.5.29.30"
    static let distributionPoints = "2.5.29.31"
    static let policies = "2.5.29.32"
    static let policyMappings = "2.5.29.33"
    static let authorityKeyIdentifier = "2.5.29.35"
    static let policyConstraints = "2.5.29.36"
    static let extendedKeyUsage = "2.5.29.37"
    static let freshestList = "2.5.29.46"
    static let inhibitAnyPolicy = "2.5.29.54"
    static let authorityInformation = "1.3.6.1.5.5.7.1.1"
    static let subjectInformation = "1.3.6.1.5.5.7.1.11"
    static let noStatusCheck = "1.3.6.1.5.5.7.48.1.5"
}
