internal import CertificateReading
internal import Diagnostics
internal import Foundation
package import OpenSSL

/// An invented holder of test credentials.
package struct TestPerson: Sendable, Hashable {
    /// The person's family name.
    package let lastName: String
    /// The person's first given name.
    package let firstName: String
    /// The person's middle name; empty if there is none.
    package let middleName: String
    /// The person's electronic data interchange personal identifier: ten digits.
    package private(set) var edipi: String
    /// The given e-mail address. Nil to derive the address from the names.
    package var givenEmailAddress: String?
    /// The FASC-N's agency code, four digits.
    package var agency = "9700"
    /// The FASC-N's category of organization, one digit. 1 is the federal government.
    package var category = "1"
    /// The FASC-N's organization, four digits.
    package var organization = "9700"
    /// The FASC-N's association of the person with the organization, one digit. 2 is a civil servant.
    package var association = "2"

    /// The given Windows account. Nil to derive it from the EDIPI.
    package var givenSecurityIdentifier: SecurityIdentifier?

    /// The Windows account: the given one, or one in the domain of Microsoft's examples, which exists in no network.
    var securityIdentifier: SecurityIdentifier? {
        // Numbers below 1,000 are reserved for accounts that exist in every domain.
        let number = 1_000 + (UInt64(edipi) ?? 0) % 4_000_000_000
        return givenSecurityIdentifier
            ?? SecurityIdentifier("S-1-5-21-1004336348-1177238915-682003330-\(number)")
    }

    /// The person's fields of the FASC-N. PIV user principal names consist of the same fields.
    var cardHolder: [String] { [edipi, category, organization, association] }

    /// `LAST.FIRST.MIDDLE.EDIPI`, the common name of every certificate of the person.
    package var commonName: String {
        ([lastName, firstName] + (middleName.isEmpty ? [] : [middleName]) + [edipi])
            .map { $0.uppercased() }.joined(separator: ".")
    }

    /// The e-mail address: the given one, or one under a domain that is reserved for examples (RFC 2606). A derived
    /// address contains the last digits of the EDIPI, because two persons may share a name.
    package var emailAddress: String {
        if let givenEmailAddress { return givenEmailAddress }
        let name = [firstName, lastName].map { part in
            let ascii = part.applyingTransform(Self.asciiLetters, reverse: false) ?? part
            return String(
                ascii.unicodeScalars.filter { ("a"..."z").contains($0) || ("0"..."9").contains($0) })
        }.filter { !$0.isEmpty }
        return (name + [String(edipi.suffix(4))]).joined(separator: ".") + "@mail.example"
    }

    /// The ICU transform that converts letters of any script to lower-case ASCII letters.
    private static let asciiLetters = StringTransform("Any-Latin; Latin-ASCII; Lower")

    /// Parses a name in one of three forms: `LAST.FIRST[.MIDDLE][.EDIPI]`, `Last, First [Middle]` or `First [Middle]
    /// Last`.
    ///
    /// Returns nil in these cases:
    ///
    /// - The text does not have two or three names.
    /// - It ends with digits that are not exactly ten.
    /// - A name contains anything but letters, digits, hyphens and apostrophes, or contains no letter.
    ///
    /// If the text has no EDIPI, it is drawn from `random`.
    package init?(name: String, using random: inout some RandomNumberGenerator) {
        guard name.unicodeScalars.allSatisfy({ !$0.isInvisible }) else { return nil }
        let given = name.contains(".") ? CommonName(name).edipi : nil
        var edipi = Self.randomIdentifier(using: &random)
        var parts: [String]
        // A name that contains spaces has the dotted form only if it ends with an EDIPI: “J. Edgar Hoover” is a plain
        // name.
        if name.contains("."), !name.contains(" ") || given != nil {
            parts = name.split(separator: ".").map(String.init)
            if let given {
                edipi = given
                parts.removeLast()
            } else if parts.last?.isASCIIDigits == true {
                return nil
            }
        } else {
            // “Last, First Middle”: the family name precedes the comma and may contain spaces.
            let sides = name.split(separator: ",", omittingEmptySubsequences: false)
            guard sides.count <= 2, let names = sides.last else { return nil }
            parts = names.split(separator: " ").map { $0.last == "." ? String($0.dropLast()) : String($0) }
            if sides.count == 2 {
                parts.insert(sides[0].split(separator: " ").joined(separator: " "), at: 0)
            } else if let last = parts.popLast() {
                parts.insert(last, at: 0)
            }
        }
        guard (2...3).contains(parts.count), parts.joined().utf8.count <= 40, parts.allSatisfy(Self.isName)
        else { return nil }
        lastName = parts[0]
        firstName = parts[1]
        middleName = parts.count > 2 ? parts[2] : ""
        self.edipi = edipi
    }

    /// Whether a string can be one of a person's names: letters, digits, hyphens, apostrophes and single spaces,
    /// beginning with a letter. Dots are excluded because they separate the parts of a common name, and other characters
    /// because they would have to be escaped.
    private static func isName(_ text: String) -> Bool {
        guard text.first?.isLetter == true, text.last != " " else { return false }
        return text.allSatisfy { $0.isLetter || $0.isNumber || "-'\u{2019} ".contains($0) }
    }

    /// A copy of the person with another EDIPI.
    func with(edipi: String) -> TestPerson {
        var person = self
        person.edipi = edipi
        return person
    }

    /// Creates a person with random names and a random EDIPI.
    package init(using random: inout some RandomNumberGenerator) {
        lastName = Self.lastNames.randomElement(using: &random) ?? "Doe"
        firstName = Self.firstNames.randomElement(using: &random) ?? "Jane"
        middleName = Self.firstNames.randomElement(using: &random) ?? "Q"
        edipi = Self.randomIdentifier(using: &random)
    }

    /// Draws an EDIPI. EDIPIs of persons do not begin with a zero.
    private static func randomIdentifier(using random: inout some RandomNumberGenerator) -> String {
        String(UInt64.random(in: 1_000_000_000...9_999_999_999, using: &random))
    }

    private static let lastNames = [
        "Acker", "Birch", "Castell", "Dunmore", "Eastman", "Fairfax", "Galloway", "Harker", "Ives", "Jessup",
        "Kestrel", "Larkin", "Marlowe", "Norwood", "Oakes", "Prescott", "Quimby", "Rowan", "Sutter", "Thorne",
    ]
    private static let firstNames = [
        "Alex", "Blake", "Casey", "Dana", "Ellis", "Frances", "Gale", "Harper", "Indra", "Jordan", "Kelly",
        "Lee", "Morgan", "Nico", "Ollie", "Parker", "Quinn", "Robin", "Sasha", "Terry",
    ]
}

extension TestPerson {
    /// Reads the person from a certificate: names from the common name, other fields from alternative names and
    /// extensions. Returns nil if the common name is not a person's.
    init?(of certificate: Certificate) {
        var unused = RandomSource.system.generator()
        guard let name = certificate.subject.commonName,
            CommonName(name).edipi != nil,
            let person = TestPerson(name: name, using: &unused)
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

/// The description of a person in a file or in command-line options. Nil fields are drawn at random.
package struct PersonDescription: Sendable, Hashable {
    /// `First [Middle] Last`, `Last, First [Middle]`, or `LAST.FIRST[.MIDDLE][.EDIPI]`.
    package var name: String?
    /// The electronic data interchange personal identifier, ten digits.
    package var edipi: String?
    /// The e-mail address, which must be in ASCII.
    package var email: String?
    /// The FASC-N's agency code, four digits.
    package var agency: String?
    /// The FASC-N's category of organization, one digit.
    package var category: String?
    /// The FASC-N's organization, four digits.
    package var organization: String?
    /// The FASC-N's association of the person with the organization, one digit.
    package var association: String?
    /// The Windows account, `S-1-5-21-…`.
    package var sid: String?

    /// Creates a description without any field.
    package init() {}

    /// Creates the person and draws the missing fields.
    ///
    /// - Throws: `ProvisioningError`: `.malformedPerson` if a field is invalid.
    package func person(using random: inout some RandomNumberGenerator) throws(ProvisioningError)
        -> TestPerson
    {
        var person = TestPerson(using: &random)
        if let name {
            guard let named = TestPerson(name: name, using: &random) else {
                throw ProvisioningError(
                    .malformedPerson,
                    "“\(name)” is not a person's name: write \u{201C}First Last\u{201D}, \u{201C}LAST, FIRST MIDDLE\u{201D}, or LAST.FIRST.MIDDLE followed by ten digits"
                )
            }
            person = named
        }
        if let edipi {
            let named = name.flatMap { CommonName($0).edipi }
            guard named == nil || named == edipi else {
                throw ProvisioningError(
                    .malformedPerson, "the name has the EDIPI \(named ?? ""), not “\(edipi)”")
            }
            person = person.with(edipi: try Self.digits(edipi, 10, "an EDIPI"))
        }
        if let email {
            guard email.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                email.split(separator: "@").count == 2
            else { throw ProvisioningError(.malformedPerson, "“\(email)” is not an e-mail address in ASCII") }
            person.givenEmailAddress = email
        }
        if let agency { person.agency = try Self.digits(agency, 4, "an agency code") }
        if let category { person.category = try Self.digits(category, 1, "a category") }
        if let organization { person.organization = try Self.digits(organization, 4, "an organization") }
        if let association { person.association = try Self.digits(association, 1, "an association") }
        if let sid {
            guard let account = SecurityIdentifier(sid) else {
                throw ProvisioningError(
                    .malformedPerson, "“\(sid)” is not a security identifier such as S-1-5-21-1-2-3-1001")
            }
            person.givenSecurityIdentifier = account
        }
        return person
    }

    /// Creates the persons of several descriptions. The missing fields of a description are derived from its other
    /// fields and its position, so that one list always produces the same persons.
    ///
    /// - Parameters:
    ///   - descriptions: The descriptions, in the order of the persons.
    ///   - seed: The number of a seeded run, or nil for a random run.
    /// - Throws: `ProvisioningError`: `.malformedPerson` if a field is invalid.
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

    /// The names of all keys of a person's description.
    package static var keys: [String] { fields.map(\.name) }

    /// Reads a description from the keys of a mapping. Ignores other keys.
    ///
    /// - Throws: `ProvisioningError` with the position of the invalid field.
    package init(_ fields: YAMLMapping) throws(ProvisioningError) {
        self.init()
        for key in Self.keys {
            guard let value = fields[key] else { continue }
            try set(key, to: try value.line("a line of text"), at: value.position)
        }
    }

    /// The maximum size of a list of persons, in bytes.
    package static let largestFile = 16 << 20
    /// The maximum number of values in a list of persons, enough for a hundred thousand persons with five fields each.
    package static let largestValueCount = 1_000_000

    /// Sets the field with the name `key`.
    ///
    /// - Throws: `ProvisioningError` with `position` if the field is invalid.
    mutating func set(
        _ key: String, to text: String, at position: SourcePosition
    ) throws(ProvisioningError) {
        guard let field = Self.fields.first(where: { $0.name == key })?.field else { return }
        self[keyPath: field] = text
        // Check the description after each field, to find the invalid one.
        do throws(ProvisioningError) {
            var unused = Seed("").generator()
            _ = try person(using: &unused)
        } catch {
            throw ProvisioningError(position, error.reason)
        }
    }

    /// A description and the position of its text.
    struct Located {
        let person: PersonDescription
        let position: SourcePosition
    }

    /// Reads one description or a list of them in JSON or YAML, or from comma-separated values with a
    /// header.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - source: The name of the file, for errors. If it ends in `.csv`, the text is parsed as comma-separated
    ///     values.
    /// - Throws: `ProvisioningError`: `.malformedPerson` with file, line, column and the expected contents.
    package static func list(
        _ bytes: [UInt8], source: String
    ) throws(ProvisioningError) -> [PersonDescription] {
        do throws(ProvisioningError) {
            let persons = try isCSV(bytes, source: source) ? table(bytes) : yaml(bytes)
            var identifiers: Set<String> = []
            for located in persons {
                let person = located.person
                let identifier = person.edipi ?? person.name.flatMap { CommonName($0).edipi }
                if let identifier, !identifiers.insert(identifier).inserted {
                    throw ProvisioningError(
                        located.position, "an earlier person has the EDIPI \(identifier)")
                }
            }
            return persons.map(\.person)
        } catch {
            throw error.located(in: source, as: .malformedPerson)
        }
    }

    private static func yaml(_ bytes: [UInt8]) throws(ProvisioningError) -> [Located] {
        let text = try YAMLNode(text: bytes, of: "a person", most: largestValueCount)
        var persons: [Located] = []
        for value in try text.oneOrMore("a person, or a list of them") {
            let person = try PersonDescription(try value.fields(of: "a person", among: keys))
            persons.append(Located(person: person, position: value.position))
        }
        return persons
    }
}
