import OpenSSL
import Testing

@Suite("Names", .timeLimit(.minutes(10)))
struct NameTests {
    @Test("A distinguished name is written as in RFC 4514, with the most specific attribute first")
    func description() throws {
        let name = try DistinguishedName([
            .init("C", "US"), .init("DC", "example"), .init("O", "A, \"B\" + C"), .init("CN", " #x\\ "),
        ])
        #expect(name.description == "CN=\\ #x\\\\\\ ,O=A\\, \\\"B\\\" \\+ C,DC=example,C=US")
    }

    @Test("A number sign is escaped only at the start of a value")
    func numberSign() throws {
        let name = try DistinguishedName([.init("CN", "#1"), .init("O", "A #1")])
        #expect(name.description == "O=A #1,CN=\\#1")
    }

    /// A name of one set with these attributes. Each type is the contents of an object identifier.
    private func multiValued(_ attributes: [(type: [UInt8], value: String)]) throws -> DistinguishedName {
        func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
            let count = contents.count
            return [tag, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)] + contents
        }
        let set = attributes.flatMap {
            element(0x30, element(0x06, $0.type) + element(0x0C, Array($0.value.utf8)))
        }
        return try DistinguishedName(der: element(0x30, element(0x31, set)))
    }

    @Test("The attributes of one set are shown together, up to a limit, and an overlong type in hexadecimal")
    func sets() throws {
        let (country, common): ([UInt8], [UInt8]) = ([0x55, 0x04, 0x06], [0x55, 0x04, 0x03])
        let two = try multiValued([(country, "US"), (common, "A")])
        #expect(two.relativeNames == [[.init("2.5.4.6", "US"), .init("2.5.4.3", "A")]])
        #expect(two.description == "C=US+CN=A")
        let count = DistinguishedName.largestShownAttributeCount
        let most = try multiValued(Array(repeating: (common, "A"), count: count))
        #expect(most.description == Array(repeating: "CN=A", count: count).joined(separator: "+"))
        let more = try multiValued(Array(repeating: (common, "A"), count: count + 1))
        #expect(more.description == most.description + "+\u{2026}")
        let type = [UInt8](repeating: 1, count: 300)
        let long = try multiValued([([0x2A] + type, "x")])
        #expect(long.relativeNames[0][0].type == "#2A" + String(repeating: "01", count: 300))
    }

    @Test("Names with the same text in different string types are different, but match")
    func stringTypes() throws {
        func name(_ tag: UInt8) throws -> DistinguishedName {
            try DistinguishedName(
                der: [0x30, 12, 0x31, 10, 0x30, 8, 0x06, 3, 0x55, 0x04, 0x03, tag, 1, 0x41])
        }
        let (utf8, printable) = (try name(0x0C), try name(0x13))
        #expect(utf8.description == printable.description && utf8 != printable)
        #expect(utf8.matchingKey == printable.matchingKey)
        // T61String and IA5String.
        for tag in [0x14, 0x16] as [UInt8] { #expect(try name(tag).commonName == "A") }
        let numeric = try DistinguishedName(
            der: [0x30, 12, 0x31, 10, 0x30, 8, 0x06, 3, 0x55, 0x04, 0x03, 0x12, 1, 0x31])
        let wide = try DistinguishedName(
            der: [0x30, 13, 0x31, 11, 0x30, 9, 0x06, 3, 0x55, 0x04, 0x03, 0x1E, 2, 0x01, 0x41])
        #expect(numeric.commonName == "1" && wide.commonName == "\u{141}")
    }

    @Test("Names that differ only in case and spaces match, and so do sets in another order")
    func matching() throws {
        let name = try DistinguishedName([.init("O", "Path Tests"), .init("CN", "Root \u{C4}")])
        let other = try DistinguishedName([.init("O", " path  TESTS "), .init("CN", "rOOT\t\u{C4}")])
        #expect(name != other && name.matchingKey == other.matchingKey)
        let (country, common): ([UInt8], [UInt8]) = ([0x55, 0x04, 0x06], [0x55, 0x04, 0x03])
        let set = try multiValued([(country, "US"), (common, "A")])
        #expect(try set.matchingKey == multiValued([(common, "a"), (country, "us")]).matchingKey)
        for different in [
            [.init("C", "US"), .init("CN", "A")], [.init("CN", "A"), .init("C", "US")],
            [.init("CN", "AUS")], [.init("O", "A")], [],
        ] as [[DistinguishedName.Attribute]] {
            #expect(try DistinguishedName(different).matchingKey != set.matchingKey, "\(different)")
        }
    }

    @Test("Names with the same 32 bits of OpenSSL's hash do not match")
    func collision() throws {
        // openssl x509 -subject_hash prints 824a5419 for both.
        let name = try DistinguishedName([.init("O", "Att"), .init("CN", "Victim 138")])
        let other = try DistinguishedName([.init("O", "Evil"), .init("CN", "aaaabcanva")])
        #expect(name.matchingKey != other.matchingKey)
    }

    @Test(
        "The attributes of RFC 4514 have its short names, and identifiers without a name are shown as numbers"
    )
    func shortNames() throws {
        let names = ["C", "L", "ST", "STREET", "O", "OU", "UID", "DC", "CN"]
        let types = [
            "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10", "2.5.4.11", "0.9.2342.19200300.100.1.1",
            "0.9.2342.19200300.100.1.25", "2.5.4.3",
        ]
        let name = try DistinguishedName(types.map { .init($0, "US") })
        #expect(name.description == names.reversed().map { $0 + "=US" }.joined(separator: ","))
        #expect(NamedIdentifier.policy("1.2.3.4").name == nil)
        #expect("\(NamedIdentifier.policy("1.2.3.4"))" == "1.2.3.4")
        #expect("\(NamedIdentifier.policy("2.5.29.32.0"))" == "anyPolicy (2.5.29.32.0)")
        #expect("\(NamedIdentifier.purpose("2.5.29.37.0"))" == "any purpose (2.5.29.37.0)")
    }

    @Test("The common name is the last of several")
    func lastCommonName() throws {
        #expect(try DistinguishedName([.init("CN", "A"), .init("CN", "B")]).commonName == "B")
    }

    @Test("A one-line name has the attributes in the order of the encoding, as OpenSSL prints them")
    func oneLine() throws {
        let name = try DistinguishedName([
            .init("C", "US"), .init("O", "U.S. Government"), .init("CN", "M\u{FC}ller, A.1"),
        ])
        #expect(name.oneLine == "/C=US/O=U.S. Government/CN=M\\xC3\\xBCller, A.1")
        #expect(try DistinguishedName([]).oneLine.isEmpty)
        let long = try DistinguishedName([.init("1.2.3.4.5", String(repeating: "x", count: 100_000))])
        #expect(long.oneLine.count == DistinguishedName.longestOneLineText)
    }

    @Test(
        "A long attribute of any characters is truncated before it is processed",
        .timeLimit(.minutes(10)), arguments: ["x", "\u{301}\u{316}", ","])
    func longAttribute(repeated: String) throws {
        let value = String(repeating: repeated, count: 400_000 / repeated.unicodeScalars.count)
        let made = try DistinguishedName([.init("1.2.3.4.5", value)])
        #expect(
            made.relativeNames[0][0].value.unicodeScalars.count == DistinguishedName.largestTextLength + 1)
        #expect(made.description.unicodeScalars.last == "\u{2026}")
        #expect(try DistinguishedName(der: made.der) == made)
    }

    @Test("An attribute's text is truncated only if it is too long, and never within a character")
    func cuts() throws {
        let length = DistinguishedName.largestTextLength
        for character in ["x", "\u{E9}", "\u{4F8B}", "\u{1F511}"] {
            let fits = String(repeating: character, count: length)
            let values = try [fits, fits + character].map {
                try DistinguishedName([.init("1.2.3.4.5", $0)]).relativeNames[0][0].value
            }
            #expect(values == [fits, fits + "\u{2026}"])
        }
    }

    @Test("A name with too many attributes is shown as its first attributes and an ellipsis")
    func manyAttributes() throws {
        let name = try DistinguishedName(
            [DistinguishedName.Attribute](repeating: .init("DC", "a"), count: 1_000))
        #expect(name.description == String(repeating: "DC=a,", count: 64) + "\u{2026}")
    }

    @Test("An attribute that RFC 4514 does not name is shown by OpenSSL's name or by its identifier")
    func otherAttributes() throws {
        let name = try DistinguishedName([.init("serialNumber", "42"), .init("1.2.3.4.5", "Ünï 🎈")])
        #expect(name.description == "1.2.3.4.5=Ünï 🎈,serialNumber=42")
        #expect(name.values(of: "2.5.4.5") == ["42"])
    }

    @Test(
        "A distinguished name can be read from its encoding",
        arguments: [[], [DistinguishedName.Attribute("CN", "A.B.1")]])
    func roundTrip(attributes: [DistinguishedName.Attribute]) throws {
        let name = try DistinguishedName(attributes)
        let decoded = try DistinguishedName(der: name.der)
        #expect(decoded == name)
        #expect(decoded.relativeNames == name.relativeNames)
        #expect(name.isEmpty == attributes.isEmpty)
    }

    @Test(
        "An attribute of an unknown type, or with a value that its type forbids, is rejected",
        arguments: [
            DistinguishedName.Attribute("C", "USA"), .init("no such type", "x"),
            .init("CN", String(repeating: "x", count: 65)),
        ])
    func refusals(attribute: DistinguishedName.Attribute) {
        #expect(throws: CertificateError(.unencodable, "")) { try DistinguishedName([attribute]) }
    }

    @Test(
        "A general name of every type is shown in readable form",
        arguments: [
            (.userPrincipalName("5557779001@mil"), "UPN:5557779001@mil"),
            (
                .otherName(
                    type: GeneralName.fascnType,
                    value: .octetString([UInt8](hex: "D13810D828AF2C1084246DA1685828AF0210848D84E739C3EB"))),
                "FASC-N:4700-0257-000046-1-1-0257000046-1-9999-1"
            ),
            (.otherName(type: GeneralName.fascnType, value: .octetString([1, 2])), "FASC-N:0102 (damaged)"),
            (.rfc822Name("a@b.example"), "email:a@b.example"), (.dNSName("b.example"), "DNS:b.example"),
            (.uniformResourceIdentifier("urn:uuid:1"), "URI:urn:uuid:1"),
            (.iPAddress([192, 0, 2, 1]), "IP:192.0.2.1"),
            (.iPAddress([UInt8](repeating: 0, count: 15) + [1]), "IP:::1"), (.iPAddress([1]), "IP:#01"),
            (.registeredID("1.2.3"), "RID:1.2.3"),
            (.otherName(type: "1.2.3", value: .utf8String("x")), "1.2.3:x"),
            (.otherName(type: "1.2.3", value: .other(der: [5, 0])), "1.2.3:#0500"),
            (.otherName(type: "1.2.3", value: .octetString([1, 0xAB])), "1.2.3:#01AB"),
            (.other(der: [0xA3, 0]), "#A300"), (.rfc822Name("a\u{1B}@b"), "email:a\\u{1B}@b"),
            (.dNSName("a\u{07}"), "DNS:a\\u{7}"),
            (.uniformResourceIdentifier("x:\n"), "URI:x:\\u{A}"),
        ] as [(GeneralName, String)])
    func generalNames(name: GeneralName, text: String) {
        #expect(name.description == text)
    }

    @Test(
        "A general name that cannot be encoded is rejected",
        arguments: [
            .rfc822Name("ä@b.example"), .registeredID("no"), .otherName(type: "no", value: .utf8String("x")),
            .otherName(type: "1.2.3", value: .other(der: [0xFF])), .other(der: []),
        ] as [GeneralName])
    func unencodable(name: GeneralName) {
        #expect(throws: CertificateError.self) { try TestPKI.leaf { $0.subjectAlternativeNames = [name] } }
    }

    @Test(
        "A FASC-N is decoded from its octets and encoded to them again",
        arguments: [
            (
                "D4F810DA0D80AC1CE721CD8360DA19141082227084F810A3F0",
                "9700-1618-033303-0-0-1381224291-1-9700-2"
            ),
            (
                "D13810D828AF2C1084246DA1685828AF0210848D84E739C3EB",
                "4700-0257-000046-1-1-0257000046-1-9999-1"
            ),
        ])
    func fascn(hex: String, text: String) throws {
        let octets = [UInt8](hex: hex)
        let number = try #require(FASCN(octets: octets))
        #expect(number.description == text)
        #expect(number.octets == octets)
        #expect(FASCN(fields: text.split(separator: "-").map(String.init)) == number)
    }

    @Test("A FASC-N with one changed bit or a field of the wrong width is rejected")
    func fascnDamage() {
        let octets = [UInt8](hex: "D4F810DA0D80AC1CE721CD8360DA19141082227084F810A3F0")
        for bit in 0..<200 {
            var damaged = octets
            damaged[bit / 8] ^= 0x80 >> UInt8(bit % 8)
            #expect(FASCN(octets: damaged) == nil, "bit \(bit)")
        }
        #expect(FASCN(octets: []) == nil)
        #expect(FASCN(fields: ["9700", "1618", "033303", "0", "0", "13812242917", "1", "9700", "2"]) == nil)
        #expect(FASCN(fields: []) == nil)
    }
}
