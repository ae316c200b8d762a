internal import CertificateReading
internal import Diagnostics
internal import Foundation
package import OpenSSL

/// An invented person that test credentials are made out to.
package struct TestPerson: Sendable, Hashable {
    /// The family name.
    package let lastName: String
    /// The first given name.
    package let firstName: String
    /// The middle name; empty for a person without one.
    package let middleName: String
    /// The electronic data interchange personal identifier: ten digits.
    package private(set) var edipi: String
    /// The e-mail address; nil for one that is made of the names.
    package var givenEmailAddress: String?
    /// The FASC-N's agency code, four digits.
    package var agency = "9700"
    /// The FASC-N's category of organisation, one digit: 1 is the federal government.
    package var category = "1"
    /// The FASC-N's organisation, four digits.
    package var organization = "9700"
    /// The FASC-N's association of the person with the organisation, one digit: 2 is a civil servant.
    package var association = "2"

    /// The Windows account; nil for one that is made of the EDIPI.
    package var givenSecurityIdentifier: SecurityIdentifier?

    /// The Windows account: the given one, or one in the domain of Microsoft's examples, which no network has.
    var securityIdentifier: SecurityIdentifier? {
        // The numbers below 1,000 are those of accounts that every domain has.
        let number = 1_000 + (UInt64(edipi) ?? 0) % 4_000_000_000
        return givenSecurityIdentifier
            ?? SecurityIdentifier("S-1-5-21-1004336348-1177238915-682003330-\(number)")
    }

    /// The FASC-N's fields about the person, of which PIV user principal names are made too.
    var cardHolder: [String] { [edipi, category, organization, association] }

    /// `LAST.FIRST.MIDDLE.EDIPI`, the common name of every certificate of the person.
    package var commonName: String {
        ([lastName, firstName] + (middleName.isEmpty ? [] : [middleName]) + [edipi])
            .map { $0.uppercased() }.joined(separator: ".")
    }

    /// The e-mail address: the given one, or one under a domain that is reserved for examples (RFC 2606). The last digits
    /// of the EDIPI are in it, because two persons may share a name.
    package var emailAddress: String {
        if let givenEmailAddress { return givenEmailAddress }
        let name = [firstName, lastName].map { part in
            let ascii = part.applyingTransform(Self.asciiLetters, reverse: false) ?? part
            return String(
                ascii.unicodeScalars.filter { ("a"..."z").contains($0) || ("0"..."9").contains($0) })
        }.filter { !$0.isEmpty }
        return (name + [String(edipi.suffix(4))]).joined(separator: ".") + "@mail.example"
    }

    /// The transform of ICU from letters of any script to lower-case letters of ASCII.
    private static let asciiLetters = StringTransform("Any-Latin; Latin-ASCII; Lower")

    /// Reads a name in one of two forms: `LAST.FIRST[.MIDDLE][.EDIPI]` or `First [Middle] Last`.
    ///
    /// Nil where the text does not have two or three names, where digits at its end are not ten, and where it has an
    /// invisible character. An EDIPI that the name leaves out is drawn from `random`.
    package init?(name: String, using random: inout some RandomNumberGenerator) {
        guard name.unicodeScalars.allSatisfy({ !$0.isInvisible }) else { return nil }
        let given = CommonName(name).edipi
        var edipi = Self.randomIdentifier(using: &random)
        var parts: [String]
        // A name with blanks has the dotted form only if an EDIPI ends it: “J. Edgar Hoover” does not.
        if name.contains("."), !name.contains(" ") || given != nil {
            parts = name.split(separator: ".").map(String.init)
            if let given {
                edipi = given
                parts.removeLast()
            } else if parts.last?.isASCIIDigits == true {
                return nil
            }
        } else {
            parts = name.split(separator: " ").map { $0.last == "." ? String($0.dropLast()) : String($0) }
            // A dot inside a name would divide it once more when a common name is read.
            guard !parts.contains(where: { $0.isEmpty || $0.contains(".") }) else { return nil }
            if let last = parts.popLast() { parts.insert(last, at: 0) }
        }
        guard (2...3).contains(parts.count), parts.joined().utf8.count <= 40 else { return nil }
        lastName = parts[0]
        firstName = parts[1]
        middleName = parts.count > 2 ? parts[2] : ""
        self.edipi = edipi
    }

    /// A copy of the person with another EDIPI.
    func with(edipi: String) -> TestPerson {
        var person = self
        person.edipi = edipi
        return person
    }

    /// Draws a person: names, EDIPI and nothing else.
    package init(using random: inout some RandomNumberGenerator) {
        lastName = Self.lastNames.randomElement(using: &random) ?? "Doe"
        firstName = Self.firstNames.randomElement(using: &random) ?? "Jane"
        middleName = Self.firstNames.randomElement(using: &random) ?? "Q"
        edipi = Self.randomIdentifier(using: &random)
    }

    /// Draws an EDIPI; those of persons do not start with a zero.
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
    /// Reads the person from a certificate: names from the common name, the rest from alternative names and extensions;
    /// nil where the common name is not a person's.
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
