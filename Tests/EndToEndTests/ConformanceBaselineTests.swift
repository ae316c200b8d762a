import Conformance
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Baselines of the conformance command", .timeLimit(.minutes(10)))
struct ConformanceBaselineTests {
    private static let names = ["garbage", "truncated", "signature-modern", "no-mac"]

    /// Runs a consumer that accepts all files whose names match `accepted`, a shell pattern.
    private func run(
        accepting accepted: String, _ options: [String], in simulation: Simulation
    ) async throws -> CommandRun {
        let script = "case $1 in \(accepted)) exit 0 ;; esac; echo \"refused\nmore\" >&2; exit 1"
        return try await simulation.provider(
            ["conformance", "--only"] + Self.names + options
                + ["--", "/bin/sh", "-c", script, "consumer", "{file}"])
    }

    private func text(_ file: String, _ simulation: Simulation) throws -> String {
        String(decoding: try simulation.scratch.read(file), as: UTF8.self)
    }

    @Test("A baseline makes the run pass until a verdict is worse, and better verdicts are listed")
    func baseline() async throws {
        let simulation = try Simulation()
        let file = simulation.scratch.path("known.json")
        let written = try await run(accepting: "*", ["--write-baseline", file], in: simulation)
        #expect(written.status == 0, "\(written.errors)")
        #expect(written.errors.contains("with 3 known deviations"))
        let lines = try text("known.json", simulation).split(separator: "\n")
        let named = lines.filter { $0.contains("\"name\"") }
        #expect(
            named.map { $0.trimmingCharacters(in: .whitespaces) } == [
                #"{"name": "garbage", "verdict": "accepts-bad"},"#,
                #"{"name": "no-mac", "verdict": "accepts-bad"},"#,
                #"{"name": "truncated", "verdict": "accepts-bad"}"#,
            ])
        let same = try await run(accepting: "*", ["--baseline", file], in: simulation)
        #expect(same.status == 0)
        #expect(same.text.contains("accepts-bad (known)"))
        let better = try await run(
            accepting: "*signature*|*truncated*", ["--baseline", file], in: simulation)
        #expect(better.status == 0)
        #expect(better.text.contains("pass, was accepts-bad"), "\(better.text)")
        #expect(better.errors.contains("--write-baseline FILE"))
        let worse = try await run(accepting: "*garbage*", ["--baseline", file], in: simulation)
        #expect(worse.status == 7)
        #expect(worse.errors.contains("1 test vector is worse than the baseline"), "\(worse.errors)")
        #expect(
            worse.text.contains("FIRST LINE OF STANDARD ERROR\nsignature-modern refused"), "\(worse.text)")
    }

    @Test("--write-baseline keeps reasons that were written by hand, and JUnit and JSON contain them")
    func reasons() async throws {
        let simulation = try Simulation()
        let file = try simulation.write(
            """
            {"format": "keyshare-baseline", "version": 1, "claims": "parse", "vectors": [
            {"name": "no-mac", "verdict": "crash", "reason": "issue 7"}, {"name": "no-such", "verdict": "hang"},
            {"name": "iteration-bomb", "verdict": "hang", "reason": "not selected"}]}
            """, as: "known.json")
        let junit = simulation.scratch.path("junit.xml")
        let run = try await run(
            accepting: "*signature*|*no-mac*",
            ["--baseline", file, "--write-baseline", file, "--junit", junit, "--json"],
            in: simulation)
        #expect(run.status == 0, "\(run.errors)")
        let report = try run.document(ConformanceReport.self)
        #expect(report.baseline?.gone == ["no-such"])
        #expect(report.baseline?.better == ["no-mac"])
        #expect(report.results.first { $0.name == "no-mac" }?.baseline?.reason == "issue 7")
        #expect(try text("junit.xml", simulation).contains("; known: issue 7\"/>"))
        let lines = try text("known.json", simulation).split(separator: "\n").filter { $0.contains("name") }
        #expect(
            lines == [
                #"    {"name": "iteration-bomb", "verdict": "hang", "reason": "not selected"},"#,
                #"    {"name": "no-mac", "verdict": "accepts-bad", "reason": "issue 7"}"#,
            ])
    }

    @Test("A baseline that is missing, malformed or for other claims is rejected before the run")
    func refused() async throws {
        let simulation = try Simulation()
        let file = try simulation.write("{}", as: "wrong.json")
        let missing = simulation.scratch.path("missing.json")
        for (options, status) in [
            (["--baseline", file], Int32(5)), (["--write-baseline", file], 5),
            (["--baseline", missing], 74),
        ] {
            let run = try await run(accepting: "*", options, in: simulation)
            #expect(run.status == status, "\(options): \(run.errors)")
            #expect(run.text.isEmpty)
        }
        let known = simulation.scratch.path("known.json")
        _ = try await run(accepting: "*", ["--write-baseline", known], in: simulation)
        let claims = try await run(
            accepting: "*", ["--baseline", known, "--claims", "path"], in: simulation)
        #expect(claims.status == 64 && claims.errors.contains("add --claims parse"), "\(claims.errors)")
        let unwritable = try await run(
            accepting: "*", ["--write-baseline", "/nowhere/known.json"], in: simulation)
        #expect(unwritable.status == 73)
    }

    @Test("A run that Ctrl-C stops does not write the baseline")
    func stopped() async throws {
        let simulation = try Simulation()
        let (started, file) = (simulation.scratch.path("started"), simulation.scratch.path("known.json"))
        let running = try simulation.start(
            .provider, "conformance", "--timeout", "600", "--only", "archives", "--write-baseline", file,
            "--", "/bin/sh", "-c", "touch \(started); sleep 1000", "consumer", "{file}")
        try await running.wait { FileManager.default.fileExists(atPath: started) }
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.status == 7)
        #expect(
            run.errors.contains("\(file) was not written, because the run was stopped"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test("diff compares two reports, and exits with 7 only if a verdict is worse")
    func diff() async throws {
        let simulation = try Simulation()
        var files: [String] = []
        for (name, accepted) in [("old.json", "*"), ("new.json", "*signature*|*no-mac*")] {
            let run = try await run(accepting: accepted, ["--json"], in: simulation)
            files.append(try simulation.write(run.text, as: name))
        }
        let better = try await simulation.provider(["conformance", "diff"] + files)
        #expect(better.status == 0, "\(better.errors)")
        #expect(better.text.contains("better garbage   accepts-bad pass"), "\(better.text)")
        #expect(better.text.hasSuffix("2 unchanged, 2 better, 0 worse\n"))
        let worse = try await simulation.provider(["conformance", "diff", "--json"] + files.reversed())
        #expect(worse.status == 7)
        #expect(try worse.document(VerdictComparison.self).worse.map(\.name) == ["garbage", "truncated"])
        let malformed = try simulation.write("{}", as: "wrong.json")
        #expect(try await simulation.provider("conformance", "diff", files[0], malformed).status == 5)
        // A valid report, except for a key that is slow to compare.
        let key = "a" + String(repeating: "\u{301}", count: 31)
        let report = try String(contentsOfFile: files[0], encoding: .utf8)
        let slow = try simulation.write(
            "{\"\(key)\": 0, " + report.drop { $0 != "{" }.dropFirst(), as: "slow.json")
        #expect(try await simulation.provider("conformance", "diff", files[0], slow).status == 5)
        let large = try simulation.write(String(repeating: " ", count: (16 << 20) + 1), as: "large.json")
        #expect(try await simulation.provider("conformance", "diff", files[0], large).status == 10)
        #expect(try await simulation.provider("conformance", "diff", files[0]).status == 64)
    }

    @Test("A consumer or an option value named diff is not mistaken for the subcommand")
    func consumerNamedDiff() async throws {
        let simulation = try Simulation()
        let consumer = try simulation.write("#!/bin/sh\nexit 0\n", as: "diff")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: consumer)
        let run = try await simulation.provider(
            "conformance", "--only", "signature-modern", "--", consumer, "{file}")
        #expect(run.status == 0, "\(run.errors)")
        // `diff` on the PATH rejects the test vector, because it needs two files.
        let named = try await simulation.provider(
            "conformance", "--only", "garbage", "--", "diff", "{file}")
        #expect(named.status == 0, "\(named.errors)")
        let value = try await simulation.provider("conformance", "--only", "diff", "--", "true", "{file}")
        #expect(value.status == 64 && value.errors.contains("no test vector or group"))
    }
}
