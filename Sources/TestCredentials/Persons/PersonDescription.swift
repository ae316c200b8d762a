package import Diagnostics
internal import CertificateReading
internal import Foundation
internal import OpenSSL

/// The description of a person in a file or by options; what is nil is drawn at random.
package struct PersonDescription: Sendable, Hashable {
    /// `First [Middle] Last`, or `LAST.FIRST[.MIDDLE][.EDIPI]`.
    package var name: String?
    /// The electronic data interchange personal identifier, ten digits.
    package var edipi: String?
    /// The e-mail address, in ASCII.
    package var email: String?
    /// The FASC-N's agency code, four digits.
    package var agency: String?
    /// The FASC-N's category of organisation, one digit.
    package var category: String?
    /// The FASC-N's organisation, four digits.
    package var organization: String?
    /// The FASC-N's association of the person with the organisation, one digit.
    package var association: String?
    /// The Windows account, `S-1-5-21-…`.
    package var sid: String?

    /// A description that leaves everything out.
    package init() {}

    /// Makes the person, and draws what the description leaves out.
    ///
    /// - Throws: `ProvisioningError`: `.malformedPerson` for a field that is wrong.
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

    /// Makes the persons of several descriptions. What a description leaves out follows from what it says and from its
    /// place in the list, so that one list gives the same persons each time.
    ///
    /// - Parameter seed: the number of a seeded run; nil for a random one.
    /// - Throws: `ProvisioningError`: `.malformedPerson` for a field that is wrong.
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

extension PersonDescription {
    private typealias Field = WritableKeyPath<PersonDescription, String?> & Sendable

    private static let fields: [(name: String, field: any Field)] = [
        ("name", \.name), ("edipi", \.edipi), ("email", \.email), ("agency", \.agency),
        ("category", \.category), ("organization", \.organization), ("association", \.association),
        ("sid", \.sid),
    ]

    /// The keys of the texts that describe a person.
    static var keys: [String] { fields.map(\.name) }

    /// Reads a description from the keys of a mapping; other keys are left to the caller.
    ///
    /// - Throws: `ProvisioningError` at the position of a field that is wrong.
    init(_ fields: YAMLMapping) throws(ProvisioningError) {
        self.init()
        for key in Self.fields {
            guard let value = fields[key.name] else { continue }
            self[keyPath: key.field] = try value.line("a text")
            // Trying the description after each field tells which field is wrong.
            do throws(ProvisioningError) {
                var unused = Seed("").generator()
                _ = try person(using: &unused)
            } catch {
                throw ProvisioningError(value.position, error.reason)
            }
        }
    }

    /// Reads one description or a list of them from a text in JSON or YAML.
    ///
    /// - Parameter source: the name of the file, for errors.
    /// - Throws: `ProvisioningError`: `.malformedPerson` with file, line, column and what was expected.
    package static func list(
        _ bytes: [UInt8], source: String
    ) throws(ProvisioningError) -> [PersonDescription] {
        do throws(ProvisioningError) {
            // A million persons with a few fields each.
            let text = try YAMLNode(text: bytes, of: "a person", most: 10_000_000)
            var persons: [PersonDescription] = []
            var identifiers: Set<String> = []
            for value in try text.oneOrMore("a person, or a list of them") {
                let person = try PersonDescription(try value.fields(of: "a person", among: keys))
                let identifier = person.edipi ?? person.name.flatMap { CommonName($0).edipi }
                if let identifier, !identifiers.insert(identifier).inserted {
                    throw ProvisioningError(
                        value.position, "a person in front of this has the EDIPI \(identifier)")
                }
                persons.append(person)
            }
            return persons
        } catch {
            throw error.located(in: source, as: .malformedPerson)
        }
    }
}
