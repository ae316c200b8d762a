import Foundation
import Testing

@testable import SecureMail

@Suite("Text in messages", .timeLimit(.minutes(10)))
struct MailTextTests {
    @Test(
        "Quoted-printable text decodes to the original, and has lines of at most 76 ASCII characters",
        arguments: [
            "", "plain", "Gr\u{FC}\u{DF}e \u{20AC} \u{6F22}", "ends in blank \r\n\tand in tab\t\r\n", "=3D=",
            "From the start\r\nFrom again\r\n", String(repeating: "x", count: 76),
            String(repeating: "\u{FC}", count: 200),
            String(repeating: "x", count: 75) + "=\r\n.\r\n",
        ])
    func quotedPrintable(text: String) throws {
        let encoded = MailText.quotedPrintable(Array(text.utf8))
        #expect(MailText.quotedPrintableDecoded(encoded) == Array(text.utf8))
        let lines = String(decoding: encoded, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 && $0.utf8.allSatisfy { $0 < 0x7F } })
        #expect(!lines.contains { $0.hasSuffix(" ") || $0.hasSuffix("\t") || $0.hasPrefix("From ") })
    }

    @Test("Line feeds without a carriage return become CR LF")
    func lineFeeds() {
        #expect(MailText.quotedPrintable(Array("a\nb\n".utf8)) == Array("a\r\nb\r\n".utf8))
    }

    @Test(
        "The value of a header decodes to the original, and has encoded words of at most 75 characters",
        arguments: [
            "plain", "Pr\u{FC}fung", "looks like =?utf-8?Q?this?=",
            String(repeating: "\u{6F22}\u{5B57} ", count: 40),
        ])
    func encodedWords(text: String) {
        let value = MailText.headerValue(text)
        #expect(MailText.decoded(headerValue: value.replacing("\r\n", with: "")) == text)
        #expect(value.components(separatedBy: "\r\n ").allSatisfy { $0.utf8.count <= 75 })
    }

    @Test("Encoded words from other programs are decoded, and other text is unchanged")
    func foreignWords() {
        #expect(
            MailText.decoded(headerValue: "=?UTF-8?Q?Pr=C3=BCfung_1?= =?utf-8?b?MjM=?= end")
                == "Pr\u{FC}fung 123 end")
        for text in ["=?koi8-r?B?zg==?=", "=?utf-8?B?/w==?=", "=?utf-8?X?aa?=", "a =? b"] {
            #expect(MailText.decoded(headerValue: text) == text)
        }
    }

    @Test(
        "A value with as many encoded words as a header can contain is decoded",
        arguments: ["", "\u{E9}"])
    func manyWords(start: String) {
        let count = MailLimits.headers / 8
        for (word, text) in [("=?a?Q??=", "=?a?Q??="), ("=?utf-8?q?_?=", " "), ("=?=?a?", "=?=?a?")] {
            #expect(
                MailText.decoded(headerValue: start + String(repeating: word, count: count))
                    == start + String(repeating: text, count: count))
        }
    }

    @Test(
        "Words in charsets that contain ASCII keep their ASCII characters",
        arguments: [
            "windows-874", "TIS-620", "windows-31j", "cp932", "big5-hkscs", "cp1251", "x-gbk", "macintosh",
            "unknown-8bit", "utf-8",
        ])
    func charsets(_ charset: String) {
        #expect(MailText.decoded(headerValue: "=?\(charset)?Q?=E0.pdf?=", assumesLatin: true) == "\u{E0}.pdf")
    }

    @Test("Text that resembles encoded words is unchanged, and text around words is kept")
    func partialWords() {
        for text in [
            "=?", "=?utf-8?Q?", "=?utf-8?Q?a?", "=??Q?a?=", "=?utf-8?QQ?a?=", "=?utf-8?Q?a b?=", "=",
        ] {
            #expect(MailText.decoded(headerValue: text) == text)
        }
        #expect(
            MailText.decoded(headerValue: "=?=?utf-8?Q?a?= b \u{20AC} =?utf-8?B?Yw==?=") == "=?a b \u{20AC} c"
        )
        #expect(
            MailText.decoded(headerValue: "=?utf-8?Q?a?= \t=?utf-8?X?b?= =?utf-8?Q?c?=")
                == "a \t=?utf-8?X?b?= c")
    }

    @Test("Blanks and line ends around a text are removed, and those inside it are kept")
    func blanks() {
        for blank in [" ", "\t", "\r", "\n", "\r\n", " \t\r\n\t "] {
            #expect((blank + "a" + blank + "b" + blank).trimmedOfBlanks == "a" + blank + "b")
            #expect(blank.trimmedOfBlanks.isEmpty)
        }
        #expect("\u{A0}a\u{B}".trimmedOfBlanks == "\u{A0}a\u{B}")
    }

    @Test("Any blanks separate encoded words, and words neither contain blanks nor lack a charset")
    func blanksOfWords() {
        for blank in [" ", "\t", "\r\n ", "\n", "\u{B}", "\u{C}", " \t "] {
            #expect(MailText.decoded(headerValue: "=?utf-8?Q?a?=\(blank)=?utf-8?Q?b?=") == "ab")
            let word = "=?utf-8?Q?a\(blank)b?="
            #expect(MailText.decoded(headerValue: word) == word)
            // A blank does not replace a question mark.
            for text in ["=?utf-8\(blank)Q?a?=", "=?utf-8?Q\(blank)a?=", "=?utf-8?Q?a\(blank)="] {
                #expect(MailText.decoded(headerValue: text) == text)
            }
        }
        #expect(MailText.decoded(headerValue: "=?utf-8?Q?a?=\u{E}=?utf-8?Q?b?=") == "a\u{E}b")
        #expect(MailText.decoded(headerValue: "=??Q?x?=?utf-8?Q?a?=") == "=??Q?x?a")
    }

    @Test("Dates are formatted as RFC 5322 requires")
    func dates() {
        #expect(MailText.date(Date(timeIntervalSince1970: 0)) == "Thu, 01 Jan 1970 00:00:00 +0000")
        #expect(
            MailText.date(Date(timeIntervalSince1970: 1_772_452_800)) == "Mon, 02 Mar 2026 12:00:00 +0000")
    }

    @Test("Each month and each day of the week has its name in dates")
    func names() {
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        // Noon of 15 January 2026, a Thursday, and the days of the months before each month.
        let start = Date(timeIntervalSince1970: 1_768_478_400)
        for (month, days) in [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334].enumerated() {
            let text = MailText.date(start + TimeInterval(days * 86_400))
            #expect(text.hasSuffix(", 15 \(months[month]) 2026 12:00:00 +0000"), "\(text)")
        }
        for (offset, day) in ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"].enumerated() {
            #expect(MailText.date(start + TimeInterval(offset * 86_400)).hasPrefix("\(day), "), "\(day)")
        }
    }

    @Test("A malformed escape in quoted-printable text is unchanged, and a soft line break is removed")
    func escapes() {
        for text in ["=", "a=", "=4", "=A", "=4G", "=G4", "=+1", "=-0", "= 4", "=4 ", "=\r", "=\rx"] {
            #expect(MailText.quotedPrintableDecoded(Array(text.utf8)) == Array(text.utf8), "\(text)")
        }
        for (text, decoded) in [("=41", "A"), ("=4a=4B", "JK"), ("a=\r\nb=\nc", "abc"), ("=3D41", "=41")] {
            #expect(MailText.quotedPrintableDecoded(Array(text.utf8)) == Array(decoded.utf8), "\(text)")
        }
    }

    @Test("A hostile name or address cannot inject another header field")
    func addresses() {
        #expect(
            MailText.address("dana@mail.example", name: "EXAMPLE.DANA")
                == "\"EXAMPLE.DANA\" <dana@mail.example>")
        for email in ["a@b\r\nBcc: x@y", "a@b>, <c@d", "a b@c", "none", ""] {
            #expect(MailText.address(email, name: "A\"\\") == "\"A\" <somebody@mail.example>")
        }
        let hostile = MailText.address("a@b.example", name: "A\r\nBcc: x@y")
        #expect(hostile.hasPrefix("=?utf-8?B?") && hostile.hasSuffix("?= <a@b.example>"))
    }

    @Test("A content type is parsed with its parameters, quoted or not")
    func contentTypes() throws {
        let type = try #require(
            ContentType(
                "Multipart/Signed; protocol=\"application/pkcs7-signature\"; micalg=sha-256 ;boundary=\"a\\\"b;c\""
            ))
        #expect(type.name == "multipart/signed")
        #expect(type.parameters["protocol"] == "application/pkcs7-signature")
        #expect(type.parameters["micalg"] == "sha-256" && type.parameters["boundary"] == "a\"b;c")
        #expect(ContentType("nonsense") == nil)
        #expect(ContentType("a/b; ; x; =; y=\"")?.parameters["y"] == "")
        for value in ["text/html (a; (b\\)))", "(x) text/html", "text (a) / html\t", "TEXT/HTML(x);a=b"] {
            #expect(ContentType(value)?.name == "text/html", "\(value)")
        }
        for value in [
            "text/html charset=utf-8", "text/html, text/plain", "text/html\0", "text/html (", "text//html",
            "/",
            "text/plain/x", "text/html=a", "text/html\rX: a",
        ] { #expect(ContentType(value) == nil, "\(value)") }
    }

    @Test(
        "Parameters are ambiguous if programs could find different values in them",
        arguments: [
            ("boundary=a", false), ("boundary=\"a b\" ; name=\"x (1).txt\"", false),
            ("boundary='a_%*'", false),
            ("type=text/html; start=<a@m.example>; boundary=a", true),
            ("boundary=a; type=text/html; start=<a@m.example>", false), ("boundary=a;", false),
            // Not name=value.
            (";", false), ("boundary=a; ;", false), ("x; boundary=a", true), ("; boundary=a", true),
            ("x y=1; boundary=a", true), ("*=1; boundary=a", true),
            ("x=; boundary=a", true), ("x=a b; boundary=a", true), ("x=a=b; boundary=a", true),
            // Some programs decode encoded words first.
            ("x=\"=?utf-8?q?a?=\"; boundary=a", true), (#"x="\\"; boundary=a"#, true),
            // Not a token.
            ("boundary=a b", true), ("boundary=----=_a", true), ("boundary=a/b", true),
            ("boundary=\u{FC}", true),
            ("boundary=a; protocol=application/pkcs7-signature", false),
            ("protocol=application/pkcs7-signature; boundary=a", true),
            ("protocol=application/pkcs7-signature (x)", true), ("protocol=a/b c", true),
            ("name=x y.txt", true), ("filename*0=x y", true),
            // Comments, also with parameters inside them.
            ("charset=utf-8 (x (y)); boundary=a", true), ("charset=\"utf-8\" (x); boundary=a", true),
            ("x=a) (; boundary=b; y=(; boundary=a", true), ("x=\"a\" (; boundary=b; y=); boundary=a", true),
            ("boundary=a (b)", true), ("boundary=\"a\" (b)", true), ("(b) boundary=a", true),
            ("micalg=sha1 (; boundary=b; x=\"); boundary=a", true),
            ("\"; boundary=b; x=\"; boundary=a", true), ("\"x; boundary=b; y\"; boundary=a", true),
            // Quoted strings without an end, or followed by text.
            ("boundary=\"a", true), ("boundary=\"a\"b", true), ("x=\"a\"\"; boundary=b\"; boundary=a", true),
            ("x=a\"; boundary=b; y=\"; boundary=a", true),
        ] as [(String, Bool)])
    func ambiguousParameters(_ parameters: String, _ isAmbiguous: Bool) throws {
        let type = try #require(ContentType("multipart/mixed; " + parameters))
        #expect(type.isAmbiguous == isAmbiguous)
    }
}
