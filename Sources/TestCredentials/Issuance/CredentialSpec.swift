internal import Foundation
internal import KeySharing
internal import OpenSSL

/// What one certificate holds, apart from its subject, its key and what is drawn at random.
struct CredentialSpec: Sendable {
    /// The type that the certificate has by the rules of the 2025 mechanism.
    let type: CredentialType
    /// The profile that says what certificates of the type hold.
    let profile: CredentialProfile
    /// The algorithm of the key.
    let algorithm: KeyAlgorithm
    /// When the certificate is valid.
    let validity: Range<Date>
    /// Which policies the certificate claims.
    var policyArc = PolicyArc.test

    /// The authority that issues the certificate.
    var issuer: TestAuthorityRole { profile.certificate(type)?.issuer ?? .identity }

    /// Makes the template of the certificate for `person`.
    ///
    /// - Parameters:
    ///   - authority: the PKI whose files the certificate names.
    ///   - locations: where the certificate says that these files are.
    ///   - random: gives the serial number first, then the rest.
    /// - Throws: `CertificateError` for names that cannot be encoded.
    func template(
        for person: TestPerson, below authority: TestAuthority, in locations: PKILocations,
        using random: inout some RandomNumberGenerator
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
}
