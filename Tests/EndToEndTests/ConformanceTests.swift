import Conformance
import Foundation
import Glibc
import TestCredentials
import TestSupport
import Testing

@Suite("Other consumers against the test vectors")
struct ConformanceTests {
    private func script(_ text: String, in simulation: Simulation) throws -> String {
        let path = try simulation.write("#!/bin/sh\n\(text)\n", as: "consumer")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    /// What a script made of test vectors.
    private func report(
        _ text: String, _ options: String..., in simulation: Simulation
    ) async throws -> ConformanceReport {
        let run = try await simulation.provider(
            ["conformance", "--json"] + options + ["--", try script(text, in: simulation), "{file}"])
        #expect(run.status == 7)
        return try run.document(ConformanceReport.self)
    }

    /// The answers of a correct consumer to test vectors of a group.
    private func expected(_ group: TestVectorGroup) -> [String: TestVectorOutcome.Answer] {
        Dictionary(
            uniqueKeysWithValues: TestVector.all.filter { $0.groups.contains(group) }.map {
                ($0.name, $0.outcome(for: .parse).answer)
            })
    }

    private func verdicts(_ report: ConformanceReport) -> [String: Verdict] {
        Dictionary(uniqueKeysWithValues: report.results.map { ($0.name, $0.verdict) })
    }

    @Test("Who accepts everything accepts what is bad, and passes the rest")
    func acceptsEverything() async throws {
        let report = try await report("exit 0", "--only", "faults", in: try Simulation())
        let expected = expected(.faults)
        #expect(expected.count == 73)
        #expect(verdicts(report) == expected.mapValues { $0 == .refuse ? .acceptsBad : .pass })
    }

    @Test("Who refuses everything refuses what is good, and passes the rest")
    func refusesEverything() async throws {
        let report = try await report("exit 1", "--only", "faults", in: try Simulation())
        #expect(verdicts(report) == expected(.faults).mapValues { $0 == .accept ? .refusesGood : .pass })
    }

    @Test(
        "Who crashes, sleeps, or forks and sleeps is told apart on every test vector",
        arguments: [
            ("kill -ABRT $$", "60", Verdict.crash), ("sleep 1000", "0.2", .hang),
            ("sleep 1000 & sleep 1000 & wait", "0.2", .hang),
        ])
    func misbehaves(text: String, timeout: String, expected: Verdict) async throws {
        let report = try await report(
            text, "--only", "archives", "--timeout", timeout, in: try Simulation())
        #expect(report.results.count == self.expected(.archives).count)
        #expect(report.results.allSatisfy { $0.verdict == expected })
    }

    @Test("Who forks, leaves the sleeper behind and accepts is judged by its exit code")
    func leavesSleeper() async throws {
        let report = try await report("sleep 1000 & exit 0", "--only", "archives", in: try Simulation())
        #expect(verdicts(report) == expected(.archives).mapValues { $0 == .refuse ? .acceptsBad : .pass })
    }

    @Test("OpenSSL opens the formats of everybody, takes what has no MAC, and derives without counting")
    func openssl() async throws {
        let simulation = try Simulation()
        let names = [
            "signature-modern", "signature-compatible", "signature-purebred-sample", "encryption-p384",
            "with-chain",
            "ber", "nested-safes", "two-identities", "garbage", "truncated", "other-password", "no-mac",
            "iteration-bomb",
        ]
        let run = try await simulation.provider(
            ["conformance", "--json", "--timeout", "5", "--only"] + names + [
                "--", "openssl", "pkcs12", "-legacy", "-in", "{file}", "-passin", "file:{password-file}",
                "-noenc",
            ])
        let verdicts = verdicts(try run.document(ConformanceReport.self))
        #expect(verdicts.count == names.count)
        #expect(verdicts["no-mac"] == .acceptsBad)
        #expect(verdicts["iteration-bomb"] == .hang)
        #expect(verdicts.filter { $0.value != .pass }.count == 2)
    }

    @Test("This package's own consumer passes every test vector of every group", .timeLimit(.minutes(10)))
    func ours() async throws {
        let simulation = try Simulation()
        let adapter = PackageFolder.path + "/docs/examples/consumers/keyshare-consumer"
        let groups = TestVectorGroup.allCases.map(\.rawValue)
        for options in [["--only"] + groups, ["--profile", "purebred-sample", "--only", "faults"]] {
            let run = try await simulation.provider(
                ["conformance", "--json", "--claims", "path", "--reports", "json", "--timeout", "60"]
                    + options + [
                        "--", "/usr/bin/env", "KEYSHARE_CONSUMER=\(BuiltCommand.consumer.path)", adapter,
                        "{file}",
                        "{password-file}", "{trust}", "{crl}", "{out}",
                    ])
            let report = try run.document(ConformanceReport.self)
            let failed = report.results.filter { $0.verdict != .pass }
            #expect(failed.isEmpty, "\(failed.map { "\($0.name): \($0.verdict), \($0.seen)" })")
            #expect(run.status == 0)
        }
    }

    // MARK: - Reports and bad input

    @Test("Reports are written beside the results, and one that cannot be written does not cost the results")
    func reports() async throws {
        let simulation = try Simulation()
        let consumer = try script("exit 0", in: simulation)
        let (junit, html) = (simulation.scratch.path("junit.xml"), simulation.scratch.path("report.html"))
        let command = ["--", consumer, "{file}"]
        let run = try await simulation.provider(
            ["conformance", "--only", "garbage", "signature-modern", "--junit", junit, "--html", html]
                + command)
        #expect(run.status == 7)
        #expect(run.text.contains("2 test vectors: 1 pass, 1 accepts-bad"))
        #expect(
            String(decoding: try simulation.scratch.read("junit.xml"), as: UTF8.self).contains("<failure"))
        #expect(
            String(decoding: try simulation.scratch.read("report.html"), as: UTF8.self)
                .contains("download=\"garbage.p12\" href=\"data:"))
        let unwritable = try await simulation.provider(
            ["conformance", "--only", "garbage", "--html", "/nowhere/report.html", "--json"] + command)
        #expect(unwritable.status == 73)
        #expect(try unwritable.document(ConformanceReport.self).results.map(\.verdict) == [.acceptsBad])
        #expect(unwritable.errors.contains("/nowhere/report.html"))
    }

    @Test(
        "A command that is none, or has no place for the file, is refused before anything is made",
        arguments: [
            (["--", "/nowhere/tool", "{file}"], "no program"), (["--", "true"], "{file}"), ([], "behind --"),
            (["--only", "garbag", "--", "true", "{file}"], "did you mean \u{201C}garbage\u{201D}"),
            (["--refused-by", "1,x", "--", "true", "{file}"], "exit codes"),
            (["--skip", "formats", "faults", "archives", "--", "true", "{file}"], "no test vector"),
        ])
    func refused(arguments: [String], words: String) async throws {
        let simulation = try Simulation()
        let run = try await simulation.provider(["conformance"] + arguments)
        #expect(run.status == 64)
        #expect(run.errors.contains(words), "\(run.errors)")
        #expect(run.text.isEmpty)
    }

    @Test("Ctrl-C ends the consumer, and what was not run says so")
    func interrupted() async throws {
        let simulation = try Simulation()
        let started = simulation.scratch.path("started")
        let consumer = try script("echo $$ >> \(started); sleep 1000", in: simulation)
        let running = try simulation.start(
            .provider, "conformance", "--json", "--timeout", "600", "--only", "archives", "--", consumer,
            "{file}")
        try await running.wait { FileManager.default.fileExists(atPath: started) }
        running.signal(SIGINT)
        let run = try await running.finish()
        #expect(run.status == 7)
        let report = try run.document(ConformanceReport.self)
        #expect(report.results.count == expected(.archives).count)
        #expect(report.results.allSatisfy { $0.verdict == .notRun })
        let pids = String(decoding: try simulation.scratch.read("started"), as: UTF8.self).split(
            separator: "\n")
        #expect(pids.compactMap { Int32($0) }.allSatisfy { kill($0, 0) != 0 })
    }

    @Test(
        "The page of results opens in a browser without a word, lists the failures, and fits a phone",
        .enabled(if: WebBrowser.isAvailable, "there is no chromium with a chromedriver"))
    func page() async throws {
        let run = try await SecondClient.python([PackageFolder.path + "/scripts/report-check"])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The list has every test vector, and those of the service")
    func list() async throws {
        let run = try await Simulation().provider("conformance", "--list", "--json")
        struct List: Decodable { let vectors: [TestVectorSuite.Entry] }
        let names = try run.document(List.self).vectors.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Set(names) == Set(TestVector.all.map(\.name) + ServiceVector.all.map(\.entry.name)))
    }
}
