internal import Foundation
package import OpenSSL

/// Something about a certificate that is not as it should be, though it can be used all the same.
package struct CertificateFinding: Sendable, Hashable {
    /// What it is; the raw values are stable, for scripts.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case serialNotPositive = "serial-not-positive"
        case serialTooLong = "serial-too-long"
        case damagedFASCN = "fascn-damaged"
        case foreignFASCN = "fascn-of-another-person"
        case malformedPrincipalName = "upn-malformed"
        case foreignPrincipalName = "upn-of-another-person"
        case foreignAffiliation = "upn-of-another-affiliation"
        case malformedUUID = "uuid-malformed"
        case damagedSecurityIdentifier = "sid-damaged"
        case foreignSecurityIdentifier = "sid-of-another-account"
    }

    package let code: Code
    /// One sentence, with the values.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Everything to be found: a serial number against RFC 5280 4.1.2.2, and names that are damaged or speak of
    /// different persons or accounts.
    ///
    /// The person is the ten digits at the end of the common name (`LAST.FIRST.MIDDLE.EDIPI`), or the FASC-N's
    /// where there are none. A principal name of sixteen digits is a person's ten with category, organisation
    /// and association behind them, which are compared with the FASC-N's of the same person; one that is not of
    /// digits says nothing.
    package static func all(in certificate: Certificate) -> [CertificateFinding] {
        serialNumber(certificate) + names(certificate) + securityIdentifier(certificate)
    }

    private static func serialNumber(_ certificate: Certificate) -> [CertificateFinding] {
        var findings: [CertificateFinding] = []
        let digits = certificate.serialNumber.drop { $0 == 0 }
        if certificate.isSerialNegative || digits.isEmpty {
            findings.append(.init(.serialNotPositive, "the serial number is not greater than zero"))
        }
        // A leading octet of zero is needed where the first bit would be a sign.
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
            certificate.subject.commonName.flatMap(personIdentifier).map { ("common name", $0) }
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
                return .init(.damagedFASCN, "the FASC-N is no OCTET STRING")
            case .otherName(GeneralName.userPrincipalNameType, .utf8String(let text)):
                return principalName(text, person, numbers)
            case .otherName(GeneralName.userPrincipalNameType, _):
                return .init(.malformedPrincipalName, "the principal name is no UTF8String")
            case .uniformResourceIdentifier(let text) where text.lowercased().hasPrefix("urn:uuid:"):
                guard UUID(uuidString: String(text.dropFirst(9))) == nil else { return nil }
                return .init(.malformedUUID, "\(name) holds no UUID")
            default: return nil
            }
        }
    }

    /// A principal name against the person, and against what a FASC-N of the same person says of where they
    /// belong.
    private static func principalName(
        _ text: String, _ person: (source: String, number: String)?, _ numbers: [FASCN]
    ) -> CertificateFinding? {
        let digits = text.prefix { $0 != "@" }
        guard digits.allSatisfy(\.isASCIIDigit), [10, 16].contains(digits.utf8.count) else { return nil }
        let (identifier, affiliation) = (String(digits.prefix(10)), digits.dropFirst(10))
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
            "category, organisation and association are \(affiliation) in the principal name, and "
                + "\(number.fields[6...].joined()) in the FASC-N")
    }

    /// The extension against itself, and against the URI that may tell the account too.
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
                    "\(name) is another account than the security identifier's, \(account)")
            }
        }
    }

    private static func personIdentifier(_ commonName: String) -> String? {
        guard let last = commonName.split(separator: ".").last, last.utf8.count == 10,
            last.allSatisfy(\.isASCIIDigit)
        else { return nil }
        return String(last)
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
