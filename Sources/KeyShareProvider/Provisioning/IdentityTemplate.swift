internal import Foundation
internal import KeySharing
internal import OpenSSL

/// What a certificate of a type holds in the profile of 2024.
enum IdentityTemplate {
    /// A template for one identity of `person`.
    static func make(
        _ type: CredentialType, for person: TestPerson, algorithm: KeyAlgorithm, validity: Range<Date>,
        using random: inout some RandomNumberGenerator
    ) throws(CertificateError) -> CertificateTemplate {
        let uuid = UUID(using: &random)
        let deviceName = "device-\(uuid.uuidString.prefix(8).lowercased()).mil.example"
        var template = CertificateTemplate(
            subject: try TestNames.subject(type == .device ? deviceName : person.commonName),
            serialNumber: SerialNumber.random(using: &random), notBefore: validity.lowerBound,
            notAfter: validity.upperBound)
        template.policies = [TestNames.Policy.software]
        switch type {
        case .signature:
            template.keyUsage = [.digitalSignature, .nonRepudiation]
            template.extendedKeyUsage = [
                TestNames.Purpose.emailProtection, TestNames.Purpose.documentSigning,
            ]
            template.subjectAlternativeNames = [
                .rfc822Name(person.emailAddress), .userPrincipalName("\(person.edipi)@mil"),
            ]
        case .encryption:
            template.keyUsage = algorithm.isEllipticCurve ? .keyAgreement : .keyEncipherment
            template.extendedKeyUsage = [TestNames.Purpose.emailProtection]
            template.subjectAlternativeNames = [.rfc822Name(person.emailAddress)]
        case .authentication:
            template.keyUsage = .digitalSignature
            template.extendedKeyUsage = [
                TestNames.Purpose.smartcardLogon, TestNames.Purpose.clientAuthentication,
                TestNames.Purpose.pkinitClient,
            ]
            template.policies = [TestNames.Policy.authentication]
            template.subjectAlternativeNames = names(ofCardHolder: person, uuid: uuid, using: &random)
        case .device:
            template.keyUsage =
                algorithm.isEllipticCurve
                ? [.digitalSignature, .keyAgreement] : [.digitalSignature, .keyEncipherment]
            template.extendedKeyUsage = [TestNames.Purpose.clientAuthentication]
            template.policies = [TestNames.Policy.devices]
            template.subjectAlternativeNames = [.dNSName(deviceName)]
        case .multi, .unknown:
            break
        }
        template.point(at: issuer(of: type))
        return template
    }

    /// Which authority issues a type.
    static func issuer(of type: CredentialType) -> TestAuthorityRole {
        switch type {
        case .signature, .encryption: .email
        case .authentication, .multi, .unknown: .identity
        case .device: .device
        }
    }

    /// Principal name, FASC-N and UUID of a PIV authentication certificate, all of one person: the principal
    /// name is the FASC-N's person, category, organisation and association.
    private static func names(
        ofCardHolder person: TestPerson, uuid: UUID, using random: inout some RandomNumberGenerator
    ) -> [GeneralName] {
        let credential = String(Int.random(in: 100_000...999_999, using: &random))
        let holder = [person.edipi, "1", "9700", "2"]
        let number = FASCN(fields: ["9700", "0001", credential, "0", "1"] + holder)
        return [.userPrincipalName("\(holder.joined())@mil")] + (number.map { [.fascn($0)] } ?? [])
            + [.uniformResourceIdentifier("urn:uuid:\(uuid.uuidString.lowercased())")]
    }
}

extension KeyAlgorithm {
    var isEllipticCurve: Bool {
        if case .rsa = self { false } else { true }
    }
}

extension UUID {
    /// A random UUID (RFC 9562, version 4).
    init(using random: inout some RandomNumberGenerator) {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.init(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8],
                bytes[9],
                bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}
