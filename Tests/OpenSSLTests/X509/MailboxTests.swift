import Testing

@testable import OpenSSL

@Suite("E-mail addresses that are compared with name constraints", .timeLimit(.minutes(10)))
struct MailboxTests {
    @Test(
        "An address is malformed unless its local part is plain, or in quotation marks on both sides",
        arguments: [
            "a\"@m.example", "\"a@m.example", "\"@m.example", "\"\"@m.example", "a\"b\"@m.example",
            "\"a\"b@m.example", "a b@m.example", "a@b@m.example", "@m.example", "m.example", "",
            "a\u{7F}@m.example", "a\u{1F}@m.example",
        ])
    func malformed(_ text: String) {
        for isInternational in [false, true] {
            #expect(ConstrainedMailbox(text, isInternational: isInternational) == nil)
        }
    }

    @Test("Only an international address contains characters outside ASCII, and none of them is a blank")
    func international() {
        for text in ["\u{E9}@m.example", "a@b\u{FC}cher.example"] {
            #expect(ConstrainedMailbox(text, isInternational: true) != nil)
            #expect(ConstrainedMailbox(text, isInternational: false) == nil)
        }
        for character in [
            "\u{85}", "\u{9F}", "\u{A0}", "\u{2003}", "\u{3000}", "\u{200B}", "\u{2028}", "\u{2029}",
        ] {
            #expect(ConstrainedMailbox("a\(character)@m.example", isInternational: true) == nil)
        }
    }

    @Test(
        "A host is a name with valid labels or an address in brackets",
        arguments: [
            ("m.example", true), ("M.Example", true), ("m_x-1.example", true), ("[192.0.2.1]", true),
            ("[192.0.2.1", false), ("192.0.2.1]", false), ("[192.0.2.1 ]", false), ("[\u{7F}]", false),
            ("m..example", false), (".m.example", false), ("m.example.", false), ("", false),
            ("m!.example", false), ("xn--bcher-kva.example", true), ("xn--.example", false),
            ("xn--bcher--kva.example", false),
            ("xn--\u{FC}.example", false), (String(repeating: "m", count: 63) + ".example", true),
            (String(repeating: "m", count: 64) + ".example", false),
            (String(repeating: "m.", count: 126) + "m", true),
            (String(repeating: "m.", count: 126) + "mm", false),
        ])
    func hosts(_ host: String, _ isValid: Bool) {
        for isInternational in [false, true] {
            #expect((ConstrainedMailbox("a@" + host, isInternational: isInternational) != nil) == isValid)
        }
    }

    @Test("A subtree is one address, a host, or the hosts below it, and an empty host is every host")
    func subtrees() throws {
        let mailbox = try #require(ConstrainedMailbox("\"a\\\"b\"@Sub.m.example", isInternational: false))
        for subtree in [
            "sub.m.example", "SUB.M.EXAMPLE", ".m.example", ".Example", "\"a\\\"b\"@sub.m.example",
            "@sub.m.example", "", "@", "\"a\\\"b\"@",
        ] {
            #expect(mailbox.isWithin(subtree), "\(subtree)")
        }
        let escaped = try #require(ConstrainedMailbox("\"\\a\\\\b\"@m.example", isInternational: false))
        #expect(escaped.isWithin("a\\b@m.example") && !escaped.isWithin("ab@m.example"))
        for subtree in [
            "m.example", "ub.m.example", ".sub.m.example", "A\"b@sub.m.example", "b@sub.m.example",
            "\"a\\\"b\"@m.example", "b@",
        ] {
            #expect(!mailbox.isWithin(subtree), "\(subtree)")
        }
    }

    @Test("A host of 340 international labels is rejected about as quickly as one of 34")
    func manyLabels() {
        func time(_ labels: Int) -> Duration {
            let address = "a@" + [String](repeating: "\u{FC}", count: labels).joined(separator: ".")
            let runs = (0..<5).map { _ in
                ContinuousClock().measure {
                    for _ in 0..<20 { #expect(ConstrainedMailbox(address, isInternational: true) == nil) }
                }
            }
            return runs.min() ?? .zero
        }
        #expect(time(340) < time(34) * 5)
    }
}
