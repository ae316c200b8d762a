import Testing

@testable import CommandSupport

@Suite("Exit statuses", .timeLimit(.minutes(10)))
struct ExitStatusTests {
    @Test("The numbers and names of exit statuses, which scripts depend on, do not change")
    func numbers() {
        let table = ExitStatus.allCases.map { "\($0.rawValue) \($0.name)" }
        #expect(
            table == [
                "0 ok", "1 unexpected", "3 wrong-password", "4 unsupported-algorithm", "5 malformed",
                "6 incomplete", "7 validation-failed", "8 provider-unavailable", "9 no-such-item",
                "10 refused", "64 usage", "73 cannot-create", "74 input-output", "141 closed-output",
            ])
    }

    @Test("The table in the help has a line for each exit status, with the numbers in a column")
    func table() {
        let lines = ExitStatus.table.split(separator: "\n")
        #expect(lines.first == "EXIT CODES:")
        let expected = ExitStatus.allCases.map { status in
            let number = "\(status.rawValue)"
            let indent = String(repeating: " ", count: 4 - number.count)
            return "\(indent)\(number)  \(status.explanation)"
        }
        #expect(lines.dropFirst().map { String($0) } == expected)
    }

    @Test("A failure without its own code or hint uses the defaults of its exit status")
    func usual() {
        let failure = CommandFailure(.wrongPassword, "no")
        #expect(failure.code == "wrong-password")
        #expect(failure.hint == "use the password that the file was encrypted with")
        #expect(CommandFailure(.refused, "no").hint == nil)
        #expect(CommandFailure(.refused, code: "limit", "no", hint: "yes").hint == "yes")
    }

    @Test(
        "A failure keeps its status and code when a subject or another hint is added, or when it is reported")
    func changes() {
        let failure = CommandFailure(.refused, code: "limit", "it is too large", hint: "split it")
        #expect(failure.about("a.p12").message == "a.p12: it is too large")
        let quoting = CommandFailure(.usage, "there is no item \u{201C}a\u{201D}")
        #expect(quoting.about("a").message == "there is no item \u{201C}a\u{201D}")
        #expect(failure.about("a.p12") == failure && failure.about("a.p12").hint == "split it")
        #expect(failure.advising("cut it") == failure && failure.advising("cut it").hint == "cut it")
        #expect(failure.reported == failure && failure.reported.isReported && !failure.isReported)
    }

    @Test("An error without a mapping is reported as a bug")
    func unexpected() {
        struct Unknown: Error {}
        let failure = CommandFailure(Unknown() as any Error)
        #expect(failure.status == .unexpected && failure.hint == "this is a bug; please report it")
    }
}
