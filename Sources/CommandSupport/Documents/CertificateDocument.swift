internal import CertificateLint
internal import CertificateReading
package import Foundation
internal import KeySharing
package import OpenSSL
internal import StandardExtensions

/// The output of `inspect`, `show` and `browse --details` about a certificate, as JSON and as text.
package struct CertificateDocument: Codable, Sendable {
    /// The nine fields of a FASC-N, as digits (TIG SCEPACS 2.3).
    package struct FASCNumber: Codable, Sendable, Equatable {
        /// The code of the agency that issued the credential.
        package let agencyCode: String
        /// The code of the agency's system that issued the credential.
        package let systemCode: String
        /// The number of the credential in the agency's system.
        package let credentialNumber: String
        /// The series of the credential, usually 0.
        package let credentialSeries: String
        /// The issue number of the credential, starting at 1.
        package let individualCredentialIssue: String
        /// The identifier of the person; in the Department of Defense, the EDIPI.
        package let personIdentifier: String
        /// The category of the organization: 1 is a federal agency.
        package let organizationalCategory: String
        /// The code of the organization.
        package let organizationalIdentifier: String
        /// The person's association with the organization: 1 is an employee.
        package let associationCategory: String

        init(_ number: FASCN) {
            let fields = number.fields
            agencyCode = fields[0]
            systemCode = fields[1]
            credentialNumber = fields[2]
            credentialSeries = fields[3]
            individualCredentialIssue = fields[4]
            personIdentifier = fields[5]
            organizationalCategory = fields[6]
            organizationalIdentifier = fields[7]
            associationCategory = fields[8]
        }

        /// The fields in the order of the FASC-N.
        fileprivate var fields: [String] {
            [
                agencyCode, systemCode, credentialNumber, credentialSeries, individualCredentialIssue,
                personIdentifier, organizationalCategory, organizationalIdentifier, associationCategory,
            ]
        }
    }

    /// The identity's name in the keychain: the SHA-256 of the certificate in hexadecimal digits.
    package let label: String
    /// The credential type under the rules of 2025.
    package let type: String
    /// The credential type under the legacy rules.
    package let legacyType: String
    /// The subject in the string format of RFC 4514.
    package let subject: String
    /// The common name of the subject; nil if there is none.
    @Nullable package private(set) var person: String?
    /// The e-mail address in the certificate; nil if there is none.
    @Nullable package private(set) var email: String?
    /// The person's EDIPI, ten digits; nil if there is none.
    @Nullable package private(set) var edipi: String?
    /// The issuer in the string format of RFC 4514.
    package let issuer: String
    /// The serial number of the certificate in hexadecimal digits.
    package let serial: String
    /// The start of the certificate's validity period.
    package let notBefore: Date
    /// The end of the certificate's validity period.
    package let notAfter: Date
    /// The names of the key usage bits (RFC 5280, 4.2.1.3); nil if the extension is absent.
    package let keyUsage: [String]?
    /// The purposes of the extended key usage (RFC 5280, 4.2.1.12) as dotted identifiers; nil if the extension is
    /// absent.
    package let extendedKeyUsage: [String]?
    /// The purposes of the extended key usage with their names, in the same order; nil if the extension is absent.
    package let purposes: [IdentifierDocument]?
    /// The subject alternative names (RFC 5280, 4.2.1.6), each with its kind.
    package let subjectAltNames: [String]
    /// The certificate policies (RFC 5280, 4.2.1.4) as dotted identifiers.
    package let policies: [String]
    /// The certificate policies with their names, in the same order.
    package let policyNames: [IdentifierDocument]
    /// The fields of the FASC-N among the alternative names; nil if none can be decoded.
    @Nullable package private(set) var fascn: FASCNumber?
    /// The subject's Windows account; `#` and octets if the extension is damaged; nil if the extension is absent.
    package let securityIdentifier: String?
    /// The kind of the public key, such as `RSA`.
    package let keyType: String
    /// The curve of an elliptic-curve key; nil for other keys.
    package let curve: String?
    /// The length of the public key in bits.
    package let keyBits: Int
    /// Signature algorithm, key identifiers, URLs and extensions; omitted except by `inspect`.
    package private(set) var details: CertificateDetailsDocument?
    /// The findings about the certificate; they do not prevent its use. `inspect` applies every rule; other commands
    /// report only findings about names and serial numbers.
    package let findings: [FindingDocument]
    /// The identity's name in the PKCS #12 file; nil outside such files.
    package var friendlyName: String?
    /// The octets, in hexadecimal digits, that link the key and the certificate in a PKCS #12 file; nil if they are
    /// absent.
    package var localKeyID: String?
    /// Whether Java's attribute marks the certificate as a trust anchor; nil for the certificate of an identity.
    package var trusted: Bool?

    /// The fields of the FASC-N for text output. JSON output has them in ``fascn``.
    private var fascnFields: [(name: String, value: String)] {
        fascn.flatMap { FASCN(fields: $0.fields) }?.namedFields ?? []
    }

    /// The time at which `inspect` examines a certificate, and the other certificates of the file.
    package struct Examination: Sendable {
        /// The time of the examination.
        package let date: Date
        /// The certificates of the file by subject.
        private let others: [DistinguishedName: [Certificate]]

        /// Creates an examination.
        ///
        /// - Parameters:
        ///   - date: The time of the examination.
        ///   - others: The certificates of the file, which may include the issuers'.
        package init(at date: Date, among others: [Certificate]) {
            self.date = date
            self.others = Dictionary(grouping: others, by: \.subject)
        }

        /// The issuer of a certificate; nil if the file does not contain it.
        fileprivate func issuer(of certificate: Certificate) -> Certificate? {
            CertificateLinter.issuer(of: certificate, among: others[certificate.issuer] ?? [])
        }
    }

    /// Creates the document of a certificate outside a PKCS #12 file.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - examination: Nil omits the details, and all findings except those about names and serial numbers.
    package init(_ certificate: Certificate, _ examination: Examination? = nil) {
        let facts = CertificateFacts(certificate)
        label = certificate.label
        type = Classification(facts, under: .keySharing2025).type.rawValue
        legacyType = Classification(facts, under: .legacy).type.rawValue
        subject = "\(certificate.subject)"
        let details = IdentityDetails(certificate)
        person = details.commonName
        email = details.email
        edipi = details.edipi
        issuer = "\(certificate.issuer)"
        serial = certificate.serialHex
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        keyUsage = certificate.keyUsage?.names
        extendedKeyUsage = certificate.extendedKeyUsage
        purposes = certificate.extendedKeyUsage?.map { IdentifierDocument(.purpose($0)) }
        subjectAltNames = certificate.subjectAlternativeNames.map(\.description)
        policies = certificate.policies
        policyNames = certificate.policies.map { IdentifierDocument(.policy($0)) }
        let number = certificate.subjectAlternativeNames.lazy.compactMap(\.fascn).first
        fascn = number.map(FASCNumber.init)
        securityIdentifier = certificate.extensions.first {
            $0.oid == SecurityIdentifier.extensionType
        }.map { SecurityIdentifier(extensionValue: $0.value)?.description ?? "#\($0.value.upperHex)" }
        keyType = certificate.publicKey.type.name
        curve = certificate.publicKey.curve
        keyBits = certificate.publicKey.bits
        guard let examination else {
            findings = CertificateLinter.irregularities(in: certificate).map { FindingDocument($0) }
            return
        }
        self.details = CertificateDetailsDocument(certificate)
        findings = CertificateLinter.findings(
            in: certificate, at: examination.date, issuer: examination.issuer(of: certificate)
        ).map { FindingDocument($0) }
    }

    /// Creates the document of an identity's certificate, with the identity's names in the PKCS #12 file.
    package init(_ identity: PKCS12Identity, _ examination: Examination? = nil) {
        self.init(identity.certificate, examination)
        friendlyName = identity.friendlyName
        localKeyID = identity.localKeyID?.upperHex
    }

    /// Creates the document of a certificate without a key, with its attributes in the PKCS #12 file.
    package init(_ entry: PKCS12CertificateEntry, _ examination: Examination? = nil) {
        self.init(entry.certificate, examination)
        friendlyName = entry.friendlyName
        localKeyID = entry.localKeyID?.upperHex
        trusted = entry.isTrusted
    }

    /// The names and values of the fields, for text output. `inspect` prints the findings below them.
    package var fields: [(name: String, value: String)] {
        let kind = type == legacyType ? type : "\(type) (legacy: \(legacyType))"
        var fields = [
            ("type", details?.authority ?? kind), ("label", label),
            ("subject", subject), ("issuer", issuer), ("serial number", serial),
            ("not before", notBefore.utcText), ("not after", notAfter.utcText),
            ("key", "\(keyType)\(curve.map { " \($0)" } ?? ""), \(keyBits) bits"),
            ("key usage", keyUsage?.joined(separator: ", ") ?? "none"),
        ]
        if let purposes {
            fields.append(("extended key usage", purposes.map(\.text).joined(separator: ", ")))
        }
        fields += subjectAltNames.map { ("alternative name", $0) }
        if !fascnFields.isEmpty {
            fields.append(("FASC-N", fascnFields.map { "\($0.name) \($0.value)" }.joined(separator: ", ")))
        }
        fields += policyNames.map { ("policy", $0.text) }
        if let securityIdentifier { fields.append(("security identifier", securityIdentifier)) }
        if let friendlyName { fields.append(("friendly name", friendlyName)) }
        if let localKeyID { fields.append(("local key ID", localKeyID)) }
        if trusted == true { fields.append(("trusted", "yes, by Java's attribute")) }
        guard let details else {
            fields += findings.map { ("finding", "\($0.message) (\($0.code))") }
            return fields.map { (name: $0.0, value: $0.1) }
        }
        return fields.map { (name: $0.0, value: $0.1) } + details.fields
    }
}
