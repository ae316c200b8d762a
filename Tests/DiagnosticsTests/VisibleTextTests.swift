import Diagnostics
import Testing

@Suite("Text that is safe to print", .timeLimit(.minutes(10)))
struct VisibleTextTests {
    @Test(
        "Control characters, separators and direction marks are escaped, including the first and the last of each range"
    )
    func steering() {
        let steering: [UInt32] = [
            0, 0x09, 0x0A, 0x0D, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9B, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028,
            0x2029, 0x202A, 0x202E, 0x2066, 0x2069, 0x206F, 0xFEFF, 0xFFF9, 0xFFFB, 0xAD, 0x200B, 0x2060,
            0xE0041,
        ]
        for value in steering {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let hexadecimal = String(value, radix: 16, uppercase: true)
            #expect(scalar.steersTerminal, "U+\(hexadecimal)")
            #expect("a\(scalar)b".visible == "a\\u{\(hexadecimal)}b")
        }
    }

    @Test(
        "Text of every script, emoji with their joiners, and already escaped text do not change",
        arguments: [
            "", " ~", "Mötley Crüe", "Ωmega 例 мир", "שלום", "مرحبا", "\u{1F9D1}\u{200D}\u{1F680}",
            "\u{A0}\u{200D}",
            "\\u{1B}[2J", "\u{FFFD}", "\u{10FFFF}",
        ])
    func unchanged(text: String) {
        #expect(text.visible == text)
        #expect(text.visible(keepingLineFeeds: true) == text)
    }

    @Test("Escaping is idempotent")
    func idempotence() {
        let text = "a\u{1B}[2J\u{202E}\n"
        #expect(text.visible == "a\\u{1B}[2J\\u{202E}\\u{A}")
        #expect(text.visible.visible == text.visible)
    }

    @Test("Line feeds are kept only if the caller requests multiline text")
    func lineFeeds() {
        #expect("a\nb\r\n\u{7}".visible(keepingLineFeeds: true) == "a\nb\\u{D}\n\\u{7}")
        #expect("a\nb".visible(keepingLineFeeds: true) == "a\nb")
        #expect("a\nb".visible == "a\\u{A}b")
        #expect("a\r\nb".visible == "a\\u{D}\\u{A}b")
    }

    @Test("Terminal control sequences and characters without a glyph are classified as invisible")
    func invisible() {
        for scalar in ["\u{1B}", "\u{200B}", "\u{AD}", "\u{E000}", "\u{378}", "\u{202E}"] as [Unicode.Scalar]
        {
            #expect(scalar.isInvisible, "\(scalar.escaped)")
        }
        for scalar in ["a", " ", "é", "\u{301}", "例", "\u{1F511}"] as [Unicode.Scalar] {
            #expect(!scalar.isInvisible, "\(scalar.escaped)")
        }
    }

    @Test("A count of one is followed by the singular, and every other count by the plural")
    func counts() {
        let texts = [-1, 0, 1, 2, 1_000].map { counted($0, "identity", "identities") }
        #expect(texts == ["-1 identities", "0 identities", "1 identity", "2 identities", "1000 identities"])
    }
}

@Suite("Suggestions and XML", .timeLimit(.minutes(10)))
struct SuggestionTests {
    @Test(
        "A name with two typing errors is suggested, or one that differs in a third of its letters",
        arguments: [
            ("lst", "list"), ("lits", "list"), ("xxst", "list"), ("xxxt", nil), ("ab", nil),
            ("xxxhentication", "authentication"), ("xxxxentication", "authentication"),
            ("xxxxxtication", nil),
        ] as [(String, String?)])
    func near(text: String, name: String?) {
        #expect(
            NearMatch.of(text, among: ["list", "authentication", "cd"].filter { $0 == name ?? $0 }) == name)
    }

    @Test("A long text is compared only up to its first 64 characters")
    func longText() {
        let name = String(repeating: "a", count: 64)
        #expect(NearMatch.of(name + String(repeating: "b", count: 1_000), among: [name]) == name)
    }

    @Test("Markup, quotes and characters that XML forbids are replaced")
    func markup() {
        #expect("<a b=\"&\">".escapedInXML == "&lt;a b=&quot;&amp;&quot;&gt;")
        #expect("\u{FFFE}\u{FFFF}".escapedInXML == "\u{FFFD}\u{FFFD}")
        #expect("a\u{1B}b\nc".escapedInXML == "a\\u{1B}b\\u{A}c")
        #expect("a\nb".escapedInXMLKeepingLineFeeds == "a\nb")
    }

    @Test("A character is escaped in JSON with four digits for each unit of UTF-16")
    func json() {
        #expect(Unicode.Scalar(0x1B as UInt8).escapedInJSON == "\\u001B")
        #expect(("\u{1F511}" as Unicode.Scalar).escapedInJSON == "\\uD83D\\uDD11")
    }
}
