import OpenSSL
import Testing

@Suite("Security identifiers", .timeLimit(.minutes(10)))
struct SecurityIdentifierTests {
    private static let text = "S-1-5-21-1004336348-1177238915-682003330-1104"
    /// The extension as Windows writes it: GeneralNames with an otherName, with an OCTET STRING of the text.
    private static let encoded =
        [UInt8](hex: "303FA03D060A2B060104018237190201A02F042D") + Array(text.utf8)

    @Test("The security identifier extension is encoded exactly as Windows writes it, and can be read")
    func extensionValue() throws {
        let account = try #require(SecurityIdentifier(Self.text))
        let written = try account.certificateExtension()
        #expect(written.oid == "1.3.6.1.4.1.311.25.2")
        #expect(!written.isCritical)
        #expect(written.value == Self.encoded)
        #expect(SecurityIdentifier(extensionValue: Self.encoded) == account)
        let certificate = try TestPKI.leaf { $0.extensions = [written] }
        #expect(certificate.extensions.contains(written))
    }

    @Test(
        "A security identifier is parsed only in the syntax of MS-DTYP",
        arguments: [
            ("S-1-5-32-544", true), ("S-1-0-0", true), ("S-1-281474976710655-4294967295", true),
            ("", false), ("S-1-5", false), ("S-2-5-1", false), ("s-1-5-1", false), ("S-1-5-", false),
            ("S-1-5-4294967296", false), ("S-1-281474976710656-1", false), ("S-1-5-+1", false),
            ("S-1-5-21-1\n", false), ("S-1-5-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", true),
            ("S-1-5-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", false),
        ])
    func syntax(text: String, isOne: Bool) {
        #expect((SecurityIdentifier(text) != nil) == isOne)
    }

    @Test("An extension that does not contain exactly one security identifier is rejected")
    func damage() {
        var damaged = Self.encoded
        damaged[15] ^= 1
        let utf8 = Self.encoded.replacingFirst([4, 0x2D], with: [12, 0x2D]) ?? []
        let name = Self.encoded.dropFirst(2)
        let two = [0x30, UInt8(2 * name.count)] + name + name
        // The same number of bytes, with another type of name.
        let typed =
            Self.encoded.replacingFirst(
                [0x37, 0x19, 0x02, 0x01], with: [0x37, 0x19, 0x02, 0x02]) ?? []
        for value in [
            [], damaged, utf8, two, typed, Array(Self.encoded.dropLast()), Self.encoded + [0], [0x30, 0],
        ] {
            #expect(SecurityIdentifier(extensionValue: value) == nil)
        }
    }
}
