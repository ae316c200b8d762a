import Testing

@testable import SecureMail

@Suite("Addresses in messages", .timeLimit(.minutes(10)))
struct MailAddressTests {
    @Test("Domains are compared without regard to case, and local parts exactly")
    func comparison() throws {
        let address = try #require(MailAddress("Dana.Example@Mail.Example"))
        #expect(address == MailAddress("Dana.Example@MAIL.example"))
        #expect(address != MailAddress("dana.example@mail.example"))
        #expect(MailAddress("\"Dana.Example\"@mail.example") == address)
        #expect(MailAddress("\"a b\\\"\"@mail.example")?.localPart == "a b\"")
        for text in [" a@mail.example", "a @mail.example", "a@mail.example ", "a@ mail.example"] {
            #expect(MailAddress(text) == nil, "\(text)")
        }
        #expect(MailAddress("a\u{A0}@mail.example") != MailAddress("a@mail.example"))
        // The precomposed and the decomposed letter are equal as characters, but not as bytes.
        #expect(MailAddress("\u{E9}@mail.example") != MailAddress("e\u{301}@mail.example"))
    }

    @Test("A backslash in quotes escapes any character, also another backslash")
    func quotedPairs() {
        for (local, content) in [
            (#""a\\b""#, #"a\b"#), (#""\a""#, "a"), (#""\\\\""#, #"\\"#), (#""\"\"""#, #""""#),
            (#""a@b""#, "a@b"),
        ] {
            #expect(MailAddress(local + "@m.example")?.localPart == content, "\(local)")
            #expect(MailAddress.list("x <\(local)@m.example>")?.map(\.localPart) == [content], "\(local)")
        }
    }

    @Test("A domain in Unicode equals its A-labels")
    func internationalDomains() {
        #expect(MailAddress("d@b\u{FC}cher.example") == MailAddress("d@xn--bcher-kva.example"))
        #expect(MailAddress("d@B\u{DC}CHER.example") == MailAddress("d@XN--BCHER-KVA.example"))
        #expect(MailAddress("d@b\u{FC}cher.example") != MailAddress("d@bucher.example"))
    }

    @Test(
        "The addresses of a field are found among names, comments, groups and quotes",
        arguments: [
            ("a@m.example", ["a@m.example"]), ("Dana <a@m.example>", ["a@m.example"]),
            ("\"b@m.example\" <a@m.example>", ["a@m.example"]),
            (
                "\"x, <b@m.example>\" <a@m.example>, c@m.example (d@m.example)",
                ["a@m.example", "c@m.example"]
            ),
            // Some programs repeat the address as the display name.
            ("a@m.example <a@m.example>", ["a@m.example"]), ("A@M.example <a@m.example>", ["a@m.example"]),
            ("Team: a@m.example, c@m.example;", ["a@m.example", "c@m.example"]),
            ("undisclosed:;", []), ("<@r.example,@s.example:a@m.example>", ["a@m.example"]),
            ("< @r.example, ,@[192.0.2.1] : a@m.example>", ["a@m.example"]),
            ("Dana\t<a@m.example>\t,", ["a@m.example"]),
            ("(a (nested\\) comment)) a@m.example", ["a@m.example"]), ("a@[192.0.2.1]", ["a@[192.0.2.1]"]),
            ("(b) a (c) @ (d) m.example (e)", ["a@m.example"]),
            ("(b) Dana <(c) a@m.example>(d)", ["a@m.example"]),
            (" a @ m.example ", ["a@m.example"]), ("Dana <a@m.example> (b@m.example) ", ["a@m.example"]),
        ])
    func lists(_ value: String, _ addresses: [String]) {
        #expect(MailAddress.list(value)?.map(\.description) == addresses)
    }

    @Test(
        "A field with text that is not an address cannot be read",
        arguments: [
            "Dana", "<>", "a@", "@m.example", "a@b@m.example, x", "a b@m.example", "a@m.example/x",
            "a@m example", "<a@m.example> b@m.example", "<a@m.example> \"b@m.example\"",
            "<a@m.example><b@m.example>", "<b@m.example><a@m.example>", "<a@m.example>: b@m.example",
            "c@m.example, <a@m.example> b@m.example",
            // Unterminated brackets, comments, quotes and domains.
            "a@m.example, <b@m.example", "a@m.example, Boss <b@m.example", "a@m.example, (b@m.example",
            "a@m.example, \"b@m.example", "a@m.example, b@[192.0.2.1",
            // Groups and routes that other programs read as addresses.
            "b@m.example: a@m.example;", "\"b@m.example\": a@m.example;", "b@m.example:a@m.example",
            "<b@m.example:a@m.example>", "<@r.example,b@m.example:a@m.example>",
            "<b@m.example,x:a@m.example>",
            "<@r.example:@s.example:a@m.example>", "<b,a@m.example>",
            "::c:[<a@m.example>", "x: y: a@m.example;", ": a@m.example;",
            // Display names without quotes that other programs read as addresses.
            "b@m.example <a@m.example>", "b@m.example[<a@m.example>", "[<a@m.example>", "\\.<a@m.example>",
            "x) <a@m.example>", "x> <a@m.example>",
            "\"b@m.example\") <a@m.example>", "c@m.example, b@m.example <a@m.example>",
            "Dana [x] <a@m.example>",
            // A comment separates words.
            "a(x)b@m.example", "<a(x)b@m.example>", "a@m(x)n.example", "a@m.exam(x)ple",
            // A combining mark after a separator.
            "<@r.example@\u{301}:a@m.example>", "a@m.example:\u{301}1",
            // Control characters.
            "b@m.example\rX: a@m.example", "a@m.example\0, b@m.example", "a\u{7F}@m.example",
            "a@m.example (\u{85})",
        ])
    func malformed(_ value: String) { #expect(MailAddress.list(value) == nil) }

    @Test("A field has at most 1,000 addresses")
    func number() {
        #expect(MailLimits.addresses == 1_000)
        for (count, isReadable) in [(1_000, true), (1_001, false)] {
            let value = [String](repeating: "a@b", count: count).joined(separator: ",")
            #expect((MailAddress.list(value) != nil) == isReadable)
        }
    }
}
