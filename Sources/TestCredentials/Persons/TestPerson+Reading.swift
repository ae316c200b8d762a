internal import CertificateReading
internal import Foundation
internal import OpenSSL

/// A person as files describe one; what is left out is drawn.
package struct PersonDescription: Sendable, Hashable {
    /// `First [Middle] Last`, or `LAST.FIRST[.MIDDLE][.EDIPI]`.
    package var name: String?
    package var edipi: String?
    package var email: String?
    package var agency: String?
    package var category: String?
    package var organization: String?
    package var association: String?
    /// The Windows account, `S-1-5-21-…`.
    package var sid: String?

    /// Nobody in particular.
    package init() {}

    /// The person, with what is missing drawn.
    ///
    /// - Throws: `malformedPerson` for a field that is wrong.
    package func person(using random: inout some RandomNumberGenerator) throws(ProvisioningError)
        -> TestPerson
    {
        var person = TestPerson(using: &random)
        if let name {
            guard let named = TestPerson(name: name, using: &random) else {
                throw ProvisioningError(
                    .malformedPerson,
                    "“\(name)” is no person's name: write First Last, or LAST.FIRST.MIDDLE with ten digits behind it"
                )
            }
            person = named
        }
        if let edipi {
            let named = name.flatMap { CommonName($0).edipi }
            guard named == nil || named == edipi else {
                throw ProvisioningError(
                    .malformedPerson, "the name has the EDIPI \(named ?? ""), and “\(edipi)” is another one")
            }
            person = person.with(edipi: try Self.digits(edipi, 10, "an EDIPI"))
        }
        if let email {
            guard email.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                email.split(separator: "@").count == 2
            else { throw ProvisioningError(.malformedPerson, "“\(email)” is no e-mail address in ASCII") }
            person.givenEmailAddress = email
        }
        if let agency { person.agency = try Self.digits(agency, 4, "an agency code") }
        if let category { person.category = try Self.digits(category, 1, "a category") }
        if let organization { person.organization = try Self.digits(organization, 4, "an organisation") }
        if let association { person.association = try Self.digits(association, 1, "an association") }
        if let sid {
            guard let account = SecurityIdentifier(sid) else {
                throw ProvisioningError(
                    .malformedPerson, "“\(sid)” is no security identifier such as S-1-5-21-1-2-3-1001")
            }
            person.givenSecurityIdentifier = account
        }
        return person
    }

    /// The persons of descriptions. What these leave out follows from what they say, so that the same name has
    /// the same identifier each time.
    ///
    /// - Parameter seed: the number of a seeded run.
    /// - Throws: `malformedPerson` for a field that is wrong.
    package static func persons(
        _ descriptions: [PersonDescription], seed: UInt64?
    ) throws(ProvisioningError) -> [TestPerson] {
        var persons: [TestPerson] = []
        for (number, description) in descriptions.enumerated() {
            let text = "person \(number) \(description) \(seed.map(String.init) ?? "")"
            var random = Seed(text).generator()
            persons.append(try description.person(using: &random))
        }
        return persons
    }

    private static func digits(_ text: String, _ count: Int, _ what: String) throws(ProvisioningError)
        -> String
    {
        guard text.utf8.count == count, text.isASCIIDigits else {
            throw ProvisioningError(.malformedPerson, "“\(text)” is not \(what) of \(count) digits")
        }
        return text
    }
}

extension TestPerson {
    /// The person that a certificate was made out to; nil where its common name does not read as one.
    init?(of certificate: Certificate) {
        var unused = RandomSource.system.generator()
        guard let name = certificate.subject.commonName,
            CommonName(name).edipi != nil, let person = TestPerson(name: name, using: &unused)
        else { return nil }
        self = person
        for name in certificate.subjectAlternativeNames {
            switch name {
            case .rfc822Name(let address) where address != emailAddress: givenEmailAddress = address
            case .otherName(GeneralName.fascnType, .octetString(let octets)):
                guard let fields = FASCN(octets: octets)?.fields else { continue }
                (agency, category, organization, association) = (fields[0], fields[6], fields[7], fields[8])
            default: continue
            }
        }
        let account = certificate.extensions.first { $0.oid == SecurityIdentifier.extensionType }
            .flatMap { SecurityIdentifier(extensionValue: $0.value) }
        if account != securityIdentifier { givenSecurityIdentifier = account }
    }
}
