internal import Foundation
internal import KeySharing
internal import OpenSSL

/// Everything that decides what one certificate holds, but for its key and what is drawn at random.
struct IdentityPlan: Sendable {
    var person: TestPerson
    var type: CredentialType
    var profile: CredentialProfile
    var algorithm: KeyAlgorithm
    var validity: Range<Date>
    var policyArc = PolicyArc.test
    var locations = PKILocations.example

    /// The certificate to be, with the serial number that `random` gives first.
    ///
    /// - Parameter authority: the PKI whose files it names.
    /// - Throws: `CertificateError` for names that cannot be written.
    func template(
        below authority: TestAuthority, using random: inout some RandomNumberGenerator
    ) throws(CertificateError) -> CertificateTemplate {
        let serial = SerialNumber.random(using: &random)
        let uuid = UUID(using: &random)
        let contents = profile.certificate(type)
        let deviceName = "device-\(uuid.uuidString.prefix(8).lowercased()).mil.example"
        var template = CertificateTemplate(
            subject: try TestNames.subject(contents?.subject == .device ? deviceName : person.commonName),
            serialNumber: serial, notBefore: validity.lowerBound, notAfter: validity.upperBound)
        guard let contents else { return template }
        template.keyUsage = contents.keyUsage(algorithm)
        template.extendedKeyUsage = contents.purposes
        template.policies = contents.policies[policyArc.rawValue] ?? []
        template.extensions = contents.otherExtensions
        for name in contents.names {
            switch name {
            case .email: template.subjectAlternativeNames.append(.rfc822Name(person.emailAddress))
            case .upn:
                template.subjectAlternativeNames.append(.userPrincipalName("\(person.edipi)@mil"))
            case .cardholderUPN:
                template.subjectAlternativeNames.append(
                    .userPrincipalName("\(person.cardHolder.joined())@mil"))
            case .fascn:
                let credential = String(Int.random(in: 100_000...999_999, using: &random))
                let fields = [person.agency, "0001", credential, "0", "1"] + person.cardHolder
                template.subjectAlternativeNames += FASCN(fields: fields).map { [.fascn($0)] } ?? []
            case .uuid:
                template.subjectAlternativeNames.append(
                    .uniformResourceIdentifier("urn:uuid:\(uuid.uuidString.lowercased())"))
            case .dns: template.subjectAlternativeNames.append(.dNSName(deviceName))
            case .sid: continue
            }
        }
        if contents.names.contains(.sid) || person.givenSecurityIdentifier != nil && contents.namesPrincipal {
            if let account = person.securityIdentifier {
                template.extensions.append(try account.certificateExtension())
            }
        }
        template.point(at: contents.issuer, authority[contents.issuer].certificate, in: locations)
        return template
    }

    /// Which authority issues it.
    var issuer: TestAuthorityRole { profile.certificate(type)?.issuer ?? .identity }
}

extension KeyAlgorithm {
    var isEllipticCurve: Bool {
        if case .rsa = self { false } else { true }
    }
}
