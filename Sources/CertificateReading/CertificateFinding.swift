internal import Foundation
package import OpenSSL
internal import StandardExtensions

/// A defect of a certificate that does not prevent its use.
package struct CertificateFinding: Sendable, Hashable {
    /// The kinds of findings. The raw values are stable codes for scripts.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The serial number is zero or negative (RFC 5280, 4.1.2.2).
        case serialNotPositive = "serial-not-positive"
        /// The serial number has more than 20 octets (RFC 5280, 4.1.2.2).
        case serialTooLong = "serial-too-long"
        /// The FASC-N cannot be decoded, or is not an OCTET STRING.
        case damagedFASCN = "fascn-damaged"
        /// The FASC-N contains the number of a different person than the common name does.
        case foreignFASCN = "fascn-of-another-person"
        /// The user principal name is not a UTF8String.
        case malformedPrincipalName = "upn-malformed"
        /// The user principal name contains the number of a different person than the common name or the FASC-N does.
        case foreignPrincipalName = "upn-of-another-person"
        /// The user principal name and the FASC-N name the same person with different affiliations.
        case foreignAffiliation = "upn-of-another-affiliation"
        /// A `urn:uuid:` among the alternative names does not contain a UUID.
        case malformedUUID = "uuid-malformed"
        /// The extension with the security identifier cannot be decoded.
        case damagedSecurityIdentifier = "sid-damaged"
        /// The extension and a URI among the alternative names have different security identifiers.
        case foreignSecurityIdentifier = "sid-of-another-account"
    }

    /// The kind of finding.
    package let code: Code
    /// One sentence about the finding, with the affected values and without a full stop.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Returns the findings about a certificate: a serial number that RFC 5280, 4.1.2.2, forbids, and alternative names
    /// that are damaged or belong to different persons or accounts.
    ///
    /// The person is identified by the EDIPI of the common name or, without one, by the person identifier of the first
    /// FASC-N (FIPS 201). A principal name of sixteen digits consists of the EDIPI, category, organization and
    /// association, which are compared with the FASC-N of that person. Other principal names are not compared.
    package static func all(in certificate: Certificate) -> [CertificateFinding] {
        serialNumber(certificate) + names(certificate) + securityIdentifier(certificate)
    }

    private static func serialNumber(_ certificate: Certificate) -> [CertificateFinding] {
        var findings: [CertificateFinding] = []
        let digits = certificate.serialNumber.drop { $0 == 0 }
        if certificate.isSerialNegative || digits.isEmpty {
            findings.append(.init(.serialNotPositive, "the serial number is not greater than zero"))
        }
        // In DER, a first octet with its highest bit set is preceded by a zero octet, because that bit would be the
        // sign.
        let count = digits.count + (digits.first.map { $0 >= 0x80 ? 1 : 0 } ?? 0)
        if count > 20 {
            findings.append(.init(.serialTooLong, "the serial number has \(count) octets, more than 20"))
        }
        return findings
    }

    private static func names(_ certificate: Certificate) -> [CertificateFinding] {
        let numbers = certificate.subjectAlternativeNames.compactMap { name -> FASCN? in
            guard case .otherName(GeneralName.fascnType, .octetString(let octets)) = name else { return nil }
            return FASCN(octets: octets)
        }
        let person =
            certificate.subject.commonName.flatMap { CommonName($0).edipi }.map { ("common name", $0) }
            ?? numbers.first.map { ("FASC-N", $0.personIdentifier) }
        return certificate.subjectAlternativeNames.compactMap { name in
            switch name {
            case .otherName(GeneralName.fascnType, .octetString(let octets)):
                guard let number = FASCN(octets: octets) else {
                    return .init(.damagedFASCN, "the FASC-N \(octets.upperHex) cannot be decoded")
                }
                guard let person, number.personIdentifier != person.1 else { return nil }
                return .init(
                    .foreignFASCN,
                    "the FASC-N's person number is \(number.personIdentifier), the \(person.0)'s \(person.1)")
            case .otherName(GeneralName.fascnType, _):
                return .init(.damagedFASCN, "the FASC-N is not an OCTET STRING")
            case .otherName(GeneralName.userPrincipalNameType, .utf8String(let text)):
                return principalName(text, person, numbers)
            case .otherName(GeneralName.userPrincipalNameType, _):
                return .init(.malformedPrincipalName, "the principal name is not a UTF8String")
            case .uniformResourceIdentifier(let text) where text.lowercased().hasPrefix("urn:uuid:"):
                guard UUID(uuidString: String(text.dropFirst(9))) == nil else { return nil }
                return .init(.malformedUUID, "\(name) does not contain a UUID")
            default: return nil
            }
        }
    }

    /// Compares a principal name with the person, and with the affiliation in a FASC-N of that person.
    private static func principalName(
        _ text: String, _ person: (source: String, number: String)?, _ numbers: [FASCN]
    ) -> CertificateFinding? {
        let digits = text.prefix { $0 != "@" }
        guard digits.isASCIIDigits, [CommonName.edipiLength, 16].contains(digits.utf8.count) else {
            return nil
        }
        let identifier = String(digits.prefix(CommonName.edipiLength))
        let affiliation = digits.dropFirst(CommonName.edipiLength)
        if let person, identifier != person.number {
            return .init(
                .foreignPrincipalName,
                "the principal name's person number is \(identifier), the \(person.source)'s \(person.number)"
            )
        }
        guard !affiliation.isEmpty,
            let number = numbers.first(where: { $0.personIdentifier == identifier }),
            number.fields[6...].joined() != affiliation
        else { return nil }
        return .init(
            .foreignAffiliation,
            "category, organization and association are \(affiliation) in the principal name, and "
                + "\(number.fields[6...].joined()) in the FASC-N")
    }

    /// Decodes the security identifier extension, and compares its account with the one in a URI among the alternative
    /// names, if any.
    private static func securityIdentifier(_ certificate: Certificate) -> [CertificateFinding] {
        let values = certificate.extensions.filter { $0.oid == SecurityIdentifier.extensionType }.map(\.value)
        return values.flatMap { value -> [CertificateFinding] in
            guard let account = SecurityIdentifier(extensionValue: value) else {
                return [
                    .init(
                        .damagedSecurityIdentifier,
                        "the security identifier \(value.upperHex) cannot be decoded")
                ]
            }
            return certificate.subjectAlternativeNames.compactMap { name in
                guard case .uniformResourceIdentifier(let text) = name,
                    text.hasPrefix(SecurityIdentifier.uriPrefix),
                    text.dropFirst(SecurityIdentifier.uriPrefix.count) != account.description
                else { return nil }
                return .init(
                    .foreignSecurityIdentifier,
                    "\(name) identifies a different account than the security identifier, \(account)")
            }
        }
    }
}
