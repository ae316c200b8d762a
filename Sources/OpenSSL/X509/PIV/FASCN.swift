/// The Federal Agency Smart Credential Number (FASC-N) of a PIV card.
///
/// A certificate contains it as an otherName of the type ``GeneralName/fascnType``. It has 25 octets, which are 40
/// characters of five bits: the four bits of a digit, lowest bit first, and an odd parity bit. The characters are a
/// start sentinel, nine fields with separators between the first six, an end sentinel, and a check character over all
/// preceding characters (TIG SCEPACS 2.3, section 6).
package struct FASCN: Sendable, Hashable {
    /// The digits of the nine fields, in the order of ``fieldWidths``.
    package let fields: [String]

    /// The number of digits in each field, in the order of ``fieldNames``.
    package static let fieldWidths = [4, 4, 6, 1, 1, 10, 1, 4, 1]

    /// Creates a number from its nine fields.
    ///
    /// - Returns: Nil if there are not nine fields, or if a field is not a decimal number with as many digits as in
    ///   ``fieldWidths``.
    package init?(fields: [String]) {
        let fits = zip(fields, Self.fieldWidths).allSatisfy { field, width in
            field.utf8.count == width && field.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard fields.count == Self.fieldWidths.count, fits else { return nil }
        self.fields = fields
    }

    /// Decodes a number from its 25 octets.
    ///
    /// - Returns: Nil if the length, a sentinel, a separator, a digit, a parity bit or the check character is wrong.
    package init?(octets: [UInt8]) {
        guard octets.count == 25 else { return nil }
        let characters = Self.characters(octets)
        guard characters[39] == Self.check(characters.dropLast()) else { return nil }
        var fields: [String] = []
        var rest = characters.dropLast()[...]
        guard rest.popFirst() == Self.start else { return nil }
        for (index, width) in Self.fieldWidths.enumerated() {
            let digits = rest.prefix(width).compactMap(Self.digit)
            guard digits.count == width else { return nil }
            fields.append(digits.map(String.init).joined())
            rest = rest.dropFirst(width)
            if index < 5, rest.popFirst() != Self.separator { return nil }
        }
        guard rest.popFirst() == Self.end, rest.isEmpty else { return nil }
        self.fields = fields
    }

    /// The encoding in 25 octets, with parity bits and check character.
    package var octets: [UInt8] {
        var characters = [Self.start]
        for (index, field) in fields.enumerated() {
            characters += field.utf8.map { Self.character($0 - 0x30) }
            if index < 5 { characters.append(Self.separator) }
        }
        characters.append(Self.end)
        characters.append(Self.check(characters))
        var octets = [UInt8](repeating: 0, count: 25)
        for (index, character) in characters.enumerated() {
            for bit in 0..<5 where character & (0x10 >> UInt8(bit)) != 0 {
                let position = index * 5 + bit
                octets[position / 8] |= 0x80 >> UInt8(position % 8)
            }
        }
        return octets
    }

    /// The names of the nine fields, in the order of ``fieldWidths`` (TIG SCEPACS 2.3, section 2).
    package static let fieldNames = [
        "agency code", "system code", "credential number", "credential series",
        "individual credential issue", "person identifier", "organizational category",
        "organizational identifier", "person/organization association category",
    ]

    /// The nine fields with their names. The values of the two category fields include their meanings.
    package var namedFields: [(name: String, value: String)] {
        zip(Self.fieldNames, fields).enumerated().map { index, field in
            let meanings = index == 6 ? Self.organizations : index == 8 ? Self.associations : [:]
            return (name: field.0, value: field.1 + (meanings[field.1].map { " (\($0))" } ?? ""))
        }
    }

    /// The organizational categories (TIG SCEPACS 2.3, table 3).
    private static let organizations = [
        "1": "federal government agency", "2": "state government agency", "3": "commercial enterprise",
        "4": "foreign government",
    ]

    /// The associations of a person with the organization (TIG SCEPACS 2.3, table 4).
    private static let associations = [
        "1": "employee", "2": "civil", "3": "executive staff", "4": "uniformed service", "5": "contractor",
        "6": "organizational affiliate", "7": "organizational beneficiary",
    ]

    /// The person identifier, ten digits. The Department of Defense puts the EDIPI here.
    package var personIdentifier: String { fields[5] }

    // The three control characters. The highest of the five bits is the first one in the encoding.
    private static let start: UInt8 = 0b11010
    private static let separator: UInt8 = 0b10110
    private static let end: UInt8 = 0b11111

    /// The characters that are packed into `octets`, as numbers of five bits.
    private static func characters(_ octets: [UInt8]) -> [UInt8] {
        (0..<octets.count * 8 / 5).map { index in
            (0..<5).reduce(0) { character, bit in
                let position = index * 5 + bit
                return character << 1 | octets[position / 8] >> UInt8(7 - position % 8) & 1
            }
        }
    }

    /// The character of a digit from 0 to 9.
    private static func character(_ digit: UInt8) -> UInt8 {
        let reversed = (0..<4).reduce(0) { (bits: UInt8, index) in bits << 1 | digit >> index & 1 }
        return reversed << 1 | (hasOddParity(reversed) ? 0 : 1)
    }

    /// The digit of a character; nil if it is a control character or its parity bit is wrong.
    private static func digit(_ character: UInt8) -> UInt8? {
        (0...9).first { self.character($0) == character }
    }

    private static func hasOddParity(_ value: UInt8) -> Bool { value.nonzeroBitCount % 2 == 1 }

    /// The check character: the XOR of the four data bits of all characters, followed by its own parity bit.
    private static func check(_ characters: some Sequence<UInt8>) -> UInt8 {
        let columns = characters.reduce(0, ^) >> 1
        return columns << 1 | (hasOddParity(columns) ? 0 : 1)
    }
}

extension FASCN: CustomStringConvertible {
    /// The fields, separated by hyphens: `9700-1618-033303-0-0-1381224291-1-9700-2`.
    package var description: String { fields.joined(separator: "-") }
}
