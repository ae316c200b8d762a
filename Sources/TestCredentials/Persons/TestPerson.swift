internal import CertificateReading
internal import Diagnostics
internal import Foundation
package import OpenSSL

/// The person that test credentials are made out to; nobody real.
package struct TestPerson: Sendable, Hashable {
    package let lastName: String
    package let firstName: String
    /// Empty for a person without one.
    package let middleName: String
    /// The electronic data interchange personal identifier: ten digits.
    package private(set) var edipi: String
    /// The address to use in place of one made of the names.
    package var givenEmailAddress: String?
    /// The FASC-N's agency code, four digits.
    package var agency = "9700"
    /// The FASC-N's category of organisation, one digit: 1 is the federal government.
    package var category = "1"
    /// The FASC-N's organisation, four digits.
    package var organization = "9700"
    /// How the person belongs to it, one digit: 2 is a civil servant.
    package var association = "2"

    /// The Windows account to name in place of one made of the identifier.
    package var givenSecurityIdentifier: SecurityIdentifier?

    /// The person's account in a domain that nobody has: the one of Microsoft's own examples.
    var securityIdentifier: SecurityIdentifier? {
        // Below 1,000 are the accounts that every domain has.
        let number = 1_000 + (UInt64(edipi) ?? 0) % 4_000_000_000
        return givenSecurityIdentifier
            ?? SecurityIdentifier("S-1-5-21-1004336348-1177238915-682003330-\(number)")
    }

    /// The FASC-N's fields about the person, which PIV principal names are made of too.
    var cardHolder: [String] { [edipi, category, organization, association] }

    /// `LAST.FIRST.MIDDLE.EDIPI`, the common name of every certificate of the person.
    package var commonName: String {
        ([lastName, firstName] + (middleName.isEmpty ? [] : [middleName]) + [edipi])
            .map { $0.uppercased() }.joined(separator: ".")
    }

    /// An address under a name that is reserved for examples (RFC 2606), with the identifier in it, because
    /// two persons may have the same name.
    package var emailAddress: String {
        if let givenEmailAddress { return givenEmailAddress }
        let name = [firstName, lastName].map { part in
            let ascii = part.applyingTransform(Self.asciiLetters, reverse: false) ?? part
            return String(
                ascii.unicodeScalars.filter { ("a"..."z").contains($0) || ("0"..."9").contains($0) })
        }.filter { !$0.isEmpty }
        return (name + [String(edipi.suffix(4))]).joined(separator: ".") + "@mail.example"
    }

    /// Any script's letters as small ones of ASCII, by ICU's tables.
    private static let asciiLetters = StringTransform("Any-Latin; Latin-ASCII; Lower")

    /// A person of a given name: `LAST.FIRST[.MIDDLE][.EDIPI]` or `First [Middle] Last`.
    ///
    /// Nil where the text has no two names in it, what stands in the identifier's place is not ten digits, or
    /// there is a character that is not to be seen.
    package init?(name: String, using random: inout some RandomNumberGenerator) {
        guard name.unicodeScalars.allSatisfy({ !$0.isInvisible }) else { return nil }
        let given = CommonName(name).edipi
        var edipi = Self.randomIdentifier(using: &random)
        var parts: [String]
        // With blanks in it, a name is of the dotted form only if an identifier says so: J. Edgar Hoover.
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
            // A dot inside would part the name anew where a common name is read.
            guard !parts.contains(where: { $0.isEmpty || $0.contains(".") }) else { return nil }
            if let last = parts.popLast() { parts.insert(last, at: 0) }
        }
        guard (2...3).contains(parts.count), parts.joined().utf8.count <= 40 else { return nil }
        lastName = parts[0]
        firstName = parts[1]
        middleName = parts.count > 2 ? parts[2] : ""
        self.edipi = edipi
    }

    /// The same person under another identifier.
    func with(edipi: String) -> TestPerson {
        var person = self
        person.edipi = edipi
        return person
    }

    /// A person of random names.
    package init(using random: inout some RandomNumberGenerator) {
        lastName = Self.lastNames.randomElement(using: &random) ?? "Doe"
        firstName = Self.firstNames.randomElement(using: &random) ?? "Jane"
        middleName = Self.firstNames.randomElement(using: &random) ?? "Q"
        edipi = Self.randomIdentifier(using: &random)
    }

    /// Identifiers of persons do not start with a zero.
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
