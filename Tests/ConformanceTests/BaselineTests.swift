import Conformance
import Foundation
import TestVectors
import Testing

@Suite("Baselines and comparisons of runs", .timeLimit(.minutes(10)))
struct BaselineTests {
    private func report(
        _ verdicts: [String: Verdict], claims: TestVectorClaim = .parse, stderr: String = ""
    ) -> ConformanceReport {
        ConformanceReport(
            consumer: ["tool", "{file}"], claims: claims,
            results: verdicts.sorted { $0.key < $1.key }.map { name, verdict in
                ConformanceReport.Result(
                    name: name, groups: [.faults], description: "A file.", expected: .refuse, why: "Because.",
                    verdict: verdict, seen: "exit code 0", exitCode: 0, signal: nil, seconds: 0.5,
                    stderr: stderr, file: name + ".p12", behaviour: "refuses it")
            })
    }

    private func baseline(_ deviations: [String: Verdict], reason: String? = nil) -> Baseline {
        Baseline(
            claims: .parse, deviations: deviations.mapValues { .init(verdict: $0, reason: reason) })
    }

    private let names: Set = ["a", "b", "c", "d", "e"]

    // MARK: - The file

    @Test("A baseline has one line for each deviation, sorted by name, and is read back unchanged")
    func text() {
        let baseline = Baseline(
            claims: .identity,
            deviations: [
                "b": .init(verdict: .hang, reason: "Issue 7: \"slow\" / \u{E9}\nsecond line"),
                "a": .init(verdict: .acceptsBad),
            ])
        #expect(
            baseline.text == """
                {
                  "format": "keyshare-baseline",
                  "version": 1,
                  "claims": "identity",
                  "vectors": [
                    {"name": "a", "verdict": "accepts-bad"},
                    {"name": "b", "verdict": "hang", "reason": "Issue 7: \\"slow\\" / \u{E9}\\nsecond line"}
                  ]
                }

                """)
        #expect(Baseline.read(Array(baseline.text.utf8)) == .baseline(baseline))
        let empty = Baseline(claims: .parse)
        #expect(empty.text.hasSuffix("\"vectors\": []\n}\n"))
        #expect(Baseline.read(Array(empty.text.utf8)) == .baseline(empty))
    }

    @Test(
        "A file that is not a baseline is rejected with a reason",
        arguments: [
            (#"{"a\#(String(repeating: "\u{301}", count: 31))": 0}"#, "not JSON"),
            ("{", "not JSON"), ("{}", "needs the keys"), ("[]", "needs the keys"),
            (#"{"format":"x","version":1,"claims":"parse","vectors":[]}"#, "format"),
            (#"{"format":"keyshare-baseline","version":2,"claims":"parse","vectors":[]}"#, "version is 2"),
            (#"{"format":"keyshare-baseline","version":1,"claims":"all","vectors":[]}"#, "claim"),
            (
                #"{"format":"keyshare-baseline","version":1,"claims":"parse","vectors":[{"name":"a","verdict":"pass"}]}"#,
                "a has the verdict"
            ),
            (
                #"{"format":"keyshare-baseline","version":1,"claims":"parse","vectors":[{"name":"a","verdict":"bad"}]}"#,
                "a has the verdict"
            ),
            (
                #"{"format":"keyshare-baseline","version":1,"claims":"parse","vectors":[{"name":"a","verdict":"hang"},{"name":"a","verdict":"hang"}]}"#,
                "two entries"
            ),
        ])
    func malformed(text: String, words: String) {
        guard case .problem(let reason) = Baseline.read(Array(text.utf8)) else {
            Issue.record("it was read: \(text)")
            return
        }
        #expect(reason.contains(words), "\(reason)")
    }

    @Test("Writing a baseline again keeps reasons and unselected entries, and drops passes and unknown names")
    func updating() {
        let old = Baseline(
            claims: .parse,
            deviations: [
                "a": .init(verdict: .hang, reason: "slow"), "b": .init(verdict: .crash, reason: "fixed"),
                "c": .init(verdict: .acceptsBad, reason: "not run"), "gone": .init(verdict: .hang),
                "e": .init(verdict: .hang, reason: "not selected"),
            ])
        let run = report(["a": .acceptsBad, "b": .pass, "c": .notRun, "d": .memory])
        #expect(
            old.updated(by: run, existing: names, reasonsOf: baseline(["d": .hang], reason: "theirs"))
                .deviations
                == [
                    "a": .init(verdict: .acceptsBad, reason: "slow"),
                    "c": .init(verdict: .acceptsBad, reason: "not run"),
                    "d": .init(verdict: .memory, reason: "theirs"),
                    "e": .init(verdict: .hang, reason: "not selected"),
                ])
        let claimed = old.updated(by: report(["a": .hang], claims: .path), existing: names)
        #expect(claimed.claims == .path)
        #expect(claimed.deviations == ["a": .init(verdict: .hang, reason: "slow")])
    }

    // MARK: - Comparing a run

    @Test("A run passes if no verdict is worse than in the baseline, and reports better and obsolete entries")
    func comparing() {
        let run = report(["a": .hang, "b": .acceptsBad, "c": .pass, "d": .pass])
        let known = baseline(["a": .hang, "b": .crash, "c": .acceptsBad, "e": .hang, "gone": .hang])
        let compared = run.compared(with: known, existing: names)
        #expect(compared.isPassed)
        #expect(compared.baseline?.known == 2)
        #expect(compared.baseline?.better == ["b", "c"])
        #expect(compared.baseline?.worse == [])
        #expect(compared.baseline?.gone == ["gone"])
        #expect(compared.summaryText.hasSuffix("; 2 known, 2 better, 0 worse"))
        #expect(!run.isPassed)
    }

    @Test("A deviation is not known if it has no entry or is worse than its entry")
    func worse() {
        let run = report(["a": .crash, "b": .acceptsBad, "c": .pass, "d": .hang])
        let compared = run.compared(with: baseline(["a": .hang, "d": .hang]), existing: names)
        #expect(!compared.isPassed)
        #expect(compared.baseline?.worse == ["a", "b"])
        #expect(compared.worstFirst.map(\.name) == ["a", "b", "d", "c"])
    }

    @Test("A test vector that was not run fails the run, even if the baseline lists a deviation for it")
    func notRun() {
        let compared = report(["a": .notRun]).compared(with: baseline(["a": .hang]), existing: names)
        #expect(!compared.isPassed)
        #expect(compared.baseline?.better == [] && compared.baseline?.known == 0)
    }

    @Test("JUnit reports known deviations as skipped with their reason, and the page marks them")
    func reports() {
        let run = report(["a": .hang, "b": .crash, "c": .hang, "d": .pass])
        let known = Baseline(
            claims: .parse,
            deviations: [
                "a": .init(verdict: .hang, reason: "Issue <7>"), "c": .init(verdict: .hang),
                "d": .init(verdict: .hang), "gone": .init(verdict: .hang),
            ])
        let compared = run.compared(with: known, existing: names)
        #expect(compared.junit.contains("failures=\"0\" errors=\"1\" skipped=\"2\""))
        #expect(
            compared.junit.contains("<skipped message=\"hang: exit code 0; known: Issue &lt;7&gt;\"/>"))
        #expect(compared.junit.contains("<skipped message=\"hang: exit code 0; known\"/>"))
        let page = compared.html(date: Date(timeIntervalSince1970: 0)) { _ in nil }
        #expect(page.contains("<span class=\"verdict\">hang</span> (known)"))
        #expect(page.contains("<dt>Known</dt><dd>Issue &lt;7&gt;</dd>"))
        #expect(page.contains("Known deviations: 2."))
        #expect(page.contains("Better than the baseline: d."))
        #expect(page.contains("<h2>Test vectors that do not pass</h2>"))
    }

    @Test(
        "A report with a baseline is read back unchanged, and a report without one has no baseline keys"
    )
    func codable() throws {
        let run = report(["a": .hang])
        let plain = String(decoding: try JSONEncoder().encode(run), as: UTF8.self)
        #expect(!plain.contains("baseline"))
        let compared = run.compared(with: baseline(["a": .hang], reason: "slow"), existing: names)
        let read = try JSONDecoder().decode(
            ConformanceReport.self, from: try JSONEncoder().encode(compared))
        #expect(read.results.first?.baseline == .init(verdict: .hang, reason: "slow"))
        #expect(read.baseline == compared.baseline)
    }

    // MARK: - Comparing two runs

    @Test("Two runs are compared by verdict, and test vectors of one run are new or gone")
    func differences() {
        let comparison = VerdictComparison(
            report(["a": .pass, "b": .hang, "c": .crash, "d": .pass, "e": .hang]),
            report(["a": .hang, "b": .pass, "c": .crash, "d": .notRun, "f": .acceptsBad, "e": .crash]))
        #expect(comparison.worse.map(\.name) == ["a", "e"])
        #expect(comparison.worse.first?.before == .pass && comparison.worse.first?.after == .hang)
        #expect(comparison.better.map(\.name) == ["b"])
        #expect(comparison.new.map(\.name) == ["f"] && comparison.new.first?.before == nil)
        #expect(comparison.gone.map(\.name) == ["d"])
        #expect(comparison.same == 1)
        #expect(comparison.summaryText == "1 unchanged, 1 better, 2 worse, 1 new, 1 gone")
    }

    // MARK: - Standard error

    @Test("The first line of standard error is the first that is not blank, shortened to 200 characters")
    func firstLine() {
        func line(_ stderr: String) -> String? {
            report(["a": .hang], stderr: stderr).results.first?.firstLineOfErrors
        }
        #expect(line("") == nil)
        #expect(line("\n \n") == nil)
        #expect(line("\r\n\nfirst\nsecond") == "first")
        #expect(line(String(repeating: "x", count: 200))?.count == 200)
        #expect(line(String(repeating: "x", count: 201)) == String(repeating: "x", count: 199) + "\u{2026}")
    }
}
