import Testing

@testable import CommandSupport

@Suite("Advice about wrong arguments")
struct UsageAdviceTests {
    @Test(
        "What was probably meant is guessed where something is near, and nothing else",
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
                "The value 'rsa2049' is invalid for '--key <key>': \u{201C}rsa2049\u{201D} is none of rsa2048, p256",
                "\u{201C}rsa2049\u{201D} is none of rsa2048, p256", "rsa2048"
            ),
            (
                "\u{201C}dod2021\u{201D} is no profile; there are dod, dod-2018, dod-2021, piv-i",
                "\u{201C}dod2021\u{201D} is no profile; there are dod, dod-2018, dod-2021, piv-i", "dod-2021"
            ),
            ("--quiet and --verbose exclude each other", "--quiet and --verbose exclude each other", nil),
            (
                "\u{201C}dat\u{201D} is no ISO 8601 date", "\u{201C}dat\u{201D} is no ISO 8601 date", nil
            ),
        ] as [(String, String, String?)])
    func guesses(said: String, message: String, guess: String?) {
        let advice = UsageAdvice(said, subcommands: ["browse", "import", "list"])
        #expect(advice.message == message)
        #expect(advice.guess == guess)
    }

    @Test("Without subcommands a superfluous argument is one")
    func superfluous() {
        let advice = UsageAdvice("Unexpected argument 'lst'")
        #expect(advice.message == "Unexpected argument 'lst'" && advice.guess == nil)
    }

    @Test("The command at the end of a hint gets the device of this run, and the socket where it connects")
    func device() {
        let arguments = ["list", "--device", "a b", "--socket=/s", "--", "--device", "no"]
        func complete(_ hint: String) -> String { PasteableHint.complete(hint, arguments: arguments) }
        #expect(
            complete("start it with: keyshare-provider serve")
                == "start it with: keyshare-provider serve --device 'a b' --socket /s")
        #expect(
            complete("what it holds: keyshare-consumer list")
                == "what it holds: keyshare-consumer list --device 'a b'")
        #expect(complete("see keyshare-consumer list --help") == "see keyshare-consumer list --help")
        #expect(complete("unlock both") == "unlock both")
        #expect(
            PasteableHint.complete("x: keyshare-consumer list", arguments: []) == "x: keyshare-consumer list")
    }

    @Test("Words are quoted for a shell where they have to be")
    func quoting() {
        #expect("a/b-1.p12".quotedForShell == "a/b-1.p12")
        #expect("All User".quotedForShell == "'All User'")
        #expect("it's".quotedForShell == #"'it'\''s'"#)
        #expect("".quotedForShell == "''")
    }
}
