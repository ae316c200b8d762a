import Conformance
import Foundation
import TestVectors
import Testing

@Suite("Verdicts on consumers", .timeLimit(.minutes(10)))
struct JudgementTests {
    private func vector(
        _ outcome: TestVectorOutcome, mayBlamePassword: Bool = false
    ) -> TestVectorSuite.Entry {
        TestVectorSuite.Entry(
            name: "some", groups: [.faults], file: "some.p12", password: "", summary: "Some.",
            expectedBehaviour: "does it", reason: "Because.", expected: .init { _ in outcome },
            mayBlamePassword: mayBlamePassword)
    }

    private func verdict(
        _ end: ProcessEnd, _ output: String = "", _ vector: TestVectorSuite.Entry,
        _ edit: (inout AnswerReading) -> Void = { _ in }
    ) -> Verdict {
        var reading = AnswerReading()
        edit(&reading)
        let result = ProcessResult(end: end, seconds: 1, output: Array(output.utf8), errors: [])
        return reading.judge(result, vector, limits: ProcessLimits()).verdict
    }

    @Test(
        "The exit code determines whether the consumer accepted or rejected the file",
        arguments: [
            (TestVectorOutcome(.accept, identities: 1), 0, Verdict.pass),
            (TestVectorOutcome(.accept, identities: 1), 1, .refusesGood), (.refuse, 0, .acceptsBad),
            (.refuse, 1, .pass),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 0, .pass),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 1, .pass),
            (TestVectorOutcome(.either), 0, .pass), (TestVectorOutcome(.either, identities: 2), 1, .pass),
        ])
    func exitCodes(outcome: TestVectorOutcome, code: Int, expected: Verdict) {
        #expect(verdict(.exit(Int32(code)), "", vector(outcome)) == expected)
    }

    @Test("Signals and exceeded limits determine the verdict, whatever the expected outcome")
    func ends() {
        for outcome in [TestVectorOutcome.refuse, TestVectorOutcome(.accept)] {
            #expect(verdict(.signal(11), "", vector(outcome)) == .crash)
            #expect(verdict(.overTime, "", vector(outcome)) == .hang)
            #expect(verdict(.overMemory, "", vector(outcome)) == .memory)
            #expect(verdict(.overProcesses, "", vector(outcome)) == .memory)
            #expect(verdict(.stopped, "", vector(outcome)) == .notRun)
            #expect(verdict(.notStarted(2), "", vector(outcome)) == .crash)
        }
    }

    @Test("An undeclared exit code is a crash, and a declared one blames the password")
    func namedCodes() {
        func read(_ reading: inout AnswerReading) {
            reading.refusals = [5]
            reading.passwordBlames = [3]
        }
        #expect(verdict(.exit(5), "", vector(.refuse), read) == .pass)
        #expect(verdict(.exit(134), "", vector(.refuse), read) == .crash)
        #expect(verdict(.exit(3), "", vector(.refuse), read) == .blamesPassword)
        #expect(verdict(.exit(3), "", vector(.refuse, mayBlamePassword: true), read) == .pass)
    }

    @Test(
        "The verdict follows the identity count and the blame in the consumer's report",
        arguments: [
            (
                TestVectorOutcome(.accept, identities: 2), 0, #"{"identities": 2, "blames": null}"#,
                Verdict.pass
            ),
            (TestVectorOutcome(.accept, identities: 2), 0, #"{"identities": 1}"#, .incomplete),
            (TestVectorOutcome(.accept, identities: 2), 0, #"{"identities": 3}"#, .acceptsBad),
            (TestVectorOutcome(.accept, identities: 2), 1, #"{"identities": 1}"#, .incomplete),
            (TestVectorOutcome(.accept, identities: 2), 1, #"{"identities": 0}"#, .refusesGood),
            (TestVectorOutcome(.accept, identities: 2), 0, "no report", .incomplete),
            (TestVectorOutcome(.accept), 0, "no report", .pass),
            (.refuse, 1, #"{"identities": 0, "blames": "password"}"#, .blamesPassword),
            (.refuse, 1, #"{"identities": 0, "blames": "file"}"#, .pass),
            (.refuse, 1, #"{"identities": 1, "blames": "file"}"#, .acceptsBad),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 5, #"{"identities": 1}"#, .pass),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 5, #"{"identities": 0}"#, .refusesGood),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 0, #"{"identities": 2}"#, .acceptsBad),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 0, "no report", .incomplete),
            (TestVectorOutcome(.acceptSome, identities: 1, of: 2), 5, "no report", .refusesGood),
            (TestVectorOutcome(.either, identities: 2), 0, #"{"identities": 2}"#, .pass),
            (TestVectorOutcome(.either, identities: 2), 5, #"{"identities": 0}"#, .pass),
            (TestVectorOutcome(.either, identities: 2), 0, #"{"identities": 3}"#, .acceptsBad),
            (TestVectorOutcome(.either), 5, "no report", .pass),
        ])
    func reports(outcome: TestVectorOutcome, code: Int, output: String, expected: Verdict) {
        #expect(verdict(.exit(Int32(code)), output, vector(outcome)) { $0.hasReports = true } == expected)
    }

    @Test("A report with a string that is slow to compare is not read")
    func slowReport() {
        let good = vector(TestVectorOutcome(.accept, identities: 1))
        for (count, expected) in [(30, Verdict.pass), (31, .incomplete)] {
            let key = "a" + String(repeating: "\u{301}", count: count)
            let output = "{\"identities\": 1, \"\(key)\": 0}"
            #expect(verdict(.exit(0), output, good) { $0.hasReports = true } == expected)
        }
    }

    @Test("If both answers are defensible, the verdict notes when the consumer chose the stricter one")
    func stricterAnswer() {
        func seen(_ code: Int32) -> String {
            let result = ProcessResult(end: .exit(code), seconds: 1, output: [], errors: [])
            let either = vector(TestVectorOutcome(.either))
            return AnswerReading().judge(result, either, limits: ProcessLimits()).seen
        }
        #expect(seen(0) == "exit code 0")
        #expect(seen(1) == "exit code 1, the stricter of two defensible answers")
        #expect(TestVectorOutcome(.either).text == "accept or refuse")
    }

    @Test("A consumer is judged only by the checks that it claims to make")
    func claims() throws {
        func expected(_ name: String) throws -> [TestVectorOutcome.Answer] {
            let vector = try #require(TestVector.all.first { $0.name == name })
            return TestVectorClaim.allCases.map { vector.outcome(for: $0).answer }
        }
        #expect(try expected("garbage") == [.refuse, .refuse, .refuse])
        #expect(try expected("signature-modern") == [.accept, .accept, .accept])
        #expect(try expected("expired") == [.accept, .accept, .refuse])
        for name in ["key-of-another-certificate", "key-only", "no-identity", "certificate-only"] {
            #expect(try expected(name) == [.either, .refuse, .refuse])
        }
        #expect(try expected("damaged-certificate") == [.refuse, .refuse, .refuse])
        #expect(try expected("mismatch-beside-identity") == [.either, .acceptSome, .acceptSome])
        #expect(try expected("recovered-keys") == [.accept, .accept, .acceptSome])
        #expect(try expected("zip-other-password") == [.acceptSome, .acceptSome, .acceptSome])
    }

    @Test("Placeholders are replaced once, anywhere in a word, and other braces remain")
    func template() throws {
        guard
            case .template(let template) = ConsumerTemplate.make(
                ["sh", "in={file}", "{password}", "{ print }", "file:{password-file}", "{unknown}"],
                path: "/nowhere:/bin",
                needsFile: true)
        else {
            Issue.record("no template")
            return
        }
        #expect(template.program == "/bin/sh")
        #expect(
            template.arguments([.file: "/a b/{password}", .password: "{file}", .passwordFile: "/p"])
                == ["sh", "in=/a b/{password}", "{file}", "{ print }", "file:/p", "{unknown}"])
        for words in [[], [""]] {
            #expect(ConsumerTemplate.make(words, path: "/bin", needsFile: true) == .problem(.empty))
        }
        #expect(ConsumerTemplate.make(["sh"], path: "/bin", needsFile: true) == .problem(.noFile))
        #expect(
            ConsumerTemplate.make(["/bin"], path: "/bin", needsFile: false)
                == .problem(.noSuchProgram("/bin")))
    }

    @Test("A selection accepts names, groups and prefixes, and includes the service only if it is named")
    func selection() {
        #expect(VectorSelection().files.count == TestVector.all.count)
        #expect(VectorSelection().services.isEmpty)
        #expect(VectorSelection(only: ["service"]).files.isEmpty)
        #expect(VectorSelection(only: ["service"]).services.count == ServiceVector.all.count)
        #expect(
            VectorSelection(only: ["zip-*"], skip: ["zip-slip"]).files.allSatisfy { $0.name != "zip-slip" })
        #expect(VectorSelection(only: ["faults"], skip: ["archives"]).files.count == 205 - 18)
        #expect(VectorSelection(only: ["expird", "expired"]).unknown.map(\.word) == ["expird"])
        #expect(VectorSelection(only: ["expird"]).unknown.map(\.nearest) == ["expired"])
    }

    // MARK: - Reports

    private func report() -> ConformanceReport {
        func result(_ name: String, _ verdict: Verdict) -> ConformanceReport.Result {
            ConformanceReport.Result(
                name: name, groups: [.faults], description: "A <file> & more.", expected: .refuse,
                why: "Because.",
                verdict: verdict, seen: "exit code 0", exitCode: 0, signal: nil, seconds: 0.5,
                stderr: "<b>\u{1B}[2J\nsecond line", file: name + ".p12", behaviour: "refuses it")
        }
        return ConformanceReport(
            consumer: ["tool", "--in", "{file}"], claims: .parse,
            results: [
                result("good", .pass), result("bad", .acceptsBad), result("crashed", .crash),
                result("large", .hang),
                result("late", .notRun),
            ])
    }

    @Test("A report counts one test vector in the singular")
    func singular() {
        let one = ConformanceReport(
            consumer: ["tool"], claims: .parse, results: Array(report().results.prefix(1)))
        #expect(one.summaryText == "1 test vector: 1 pass")
        #expect(one.html(date: Date(timeIntervalSince1970: 0)) { _ in nil }.contains("<p>1 test vector, "))
        #expect(report().summaryText.hasPrefix("5 test vectors: 1 pass"))
    }

    @Test("JUnit reports missing answers as errors and wrong answers as failures, and escapes quoted text")
    func junit() {
        let text = report().junit
        #expect(text.contains("tests=\"5\" failures=\"1\" errors=\"2\" skipped=\"1\" time=\"2.500\""))
        #expect(text.contains("<testcase classname=\"conformance.faults\" name=\"good\" time=\"0.500\"/>"))
        #expect(text.contains("<failure type=\"accepts-bad\""))
        #expect(text.contains("<error type=\"crash\""))
        #expect(text.contains("A &lt;file&gt; &amp; more."))
        #expect(!text.contains("\u{1B}"))
    }

    @Test("The page lists failures first, has no external references, and contains the small files")
    func html() throws {
        let page = report().html(date: Date(timeIntervalSince1970: 0)) { result in
            [UInt8](repeating: 7, count: result.name == "large" ? 64 << 10 + 1 : 12)
        }
        let order = try ["crashed", "large", "bad", "late"].map {
            try #require(page.range(of: "id=\"\($0)\"")?.lowerBound)
        }
        #expect(order == order.sorted())
        #expect(!page.contains("http"))
        #expect(page.contains("download=\"bad.p12\" href=\"data:application/x-pkcs12;base64,BwcH"))
        #expect(!page.contains("download=\"large.p12\""))
        #expect(page.contains("&lt;b&gt;\\u{001B}[2J\nsecond line") || page.contains("&lt;b&gt;"))
        #expect(!page.contains("\u{1B}"))
    }
}
