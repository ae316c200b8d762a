import Testing

@testable import CommandSupport

@Suite("Advice about wrong arguments", .timeLimit(.minutes(10)))
struct UsageAdviceTests {
    @Test(
        "A suggestion is made only if a similar name exists",
        arguments: [
            ("Unknown option '--name'. Did you mean '--dates'?", "Unknown option '--name'", nil),
            ("Unknown option '--jsn'. Did you mean '--json'?", "Unknown option '--jsn'", "--json"),
            ("Unknown option '--colour'", "Unknown option '--colour'", nil),
            ("Unexpected argument 'brwose'", "there is no command \u{201C}brwose\u{201D}", "browse"),
            ("Unexpected argument 'zzz'", "there is no command \u{201C}zzz\u{201D}", nil),
            (
                "The value 'consumr' is invalid for '--app <app>'. Please provide one of 'files' or 'consumer'.",
                "The value 'consumr' is invalid for '--app <app>'. Please provide one of 'files' or 'consumer'.",
                "consumer"
            ),
            (
                "The value 'rsa2049' is invalid for '--key <key>': \u{201C}rsa2049\u{201D} is not one of rsa2048, p256",
                "\u{201C}rsa2049\u{201D} is not one of rsa2048, p256", "rsa2048"
            ),
            (
                "\u{201C}dod2021\u{201D} is not a profile; use one of dod, dod-2018, dod-2021, piv-i",
                "\u{201C}dod2021\u{201D} is not a profile; use one of dod, dod-2018, dod-2021, piv-i",
                "dod-2021"
            ),
            (
                "The value 'p12-kit' is invalid for '--for <for>'. Please provide one of the following:\n  - ssh\n  - p11-kit\n  - nss",
                "The value 'p12-kit' is invalid for '--for <for>'. Please provide one of ssh, p11-kit, nss",
                "p11-kit"
            ),
            (
                "The value 'pin+alway' is invalid for '--token-login <mode>'. Please provide one of 'pin', 'path+always' or 'pin+always'.",
                "The value 'pin+alway' is invalid for '--token-login <mode>'. Please provide one of 'pin', 'path+always' or 'pin+always'.",
                "pin+always"
            ),
            ("--quiet and --verbose cannot be combined", "--quiet and --verbose cannot be combined", nil),
            (
                "\u{201C}dat\u{201D} is not an ISO 8601 date", "\u{201C}dat\u{201D} is not an ISO 8601 date",
                nil
            ),
        ] as [(String, String, String?)])
    func guesses(said: String, message: String, guess: String?) {
        let advice = UsageAdvice(said, subcommands: ["browse", "import", "list"])
        #expect(advice.message == message)
        #expect(advice.guess == guess)
    }

    @Test("If a command has no subcommands, a superfluous argument is reported as unexpected")
    func superfluous() {
        let advice = UsageAdvice("Unexpected argument 'lst'")
        #expect(advice.message == "Unexpected argument 'lst'" && advice.guess == nil)
    }

    @Test("The command in a hint includes the device of this run, and the socket if it connects")
    func device() {
        let arguments = ["list", "--device", "a b", "--socket=/s", "--", "--device", "no"]
        func complete(_ hint: String) -> String { PasteableHint.complete(hint, arguments: arguments) }
        #expect(
            complete("start it with: keyshare-provider serve")
                == "start it with: keyshare-provider serve --device 'a b' --socket /s")
        #expect(
            complete("to list the identities: keyshare-consumer list")
                == "to list the identities: keyshare-consumer list --device 'a b'")
        #expect(complete("see keyshare-consumer list --help") == "see keyshare-consumer list --help")
        #expect(complete("unlock both") == "unlock both")
        #expect(
            PasteableHint.complete("x: keyshare-consumer list", arguments: []) == "x: keyshare-consumer list")
    }

    @Test("Words are quoted for a shell only if necessary")
    func quoting() {
        #expect("a/b-1.p12".quotedForShell == "a/b-1.p12")
        #expect("All User".quotedForShell == "'All User'")
        #expect("it's".quotedForShell == #"'it'\''s'"#)
        #expect("".quotedForShell == "''")
        // A combining mark makes one character of the apostrophe and itself.
        let quoted = "e'\u{301};x".quotedForShell
        let expected = #"'e'\''"# + "\u{301};x'"
        #expect(quoted.unicodeScalars.elementsEqual(expected.unicodeScalars))
    }
}
