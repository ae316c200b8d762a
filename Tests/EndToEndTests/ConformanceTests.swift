import Conformance
import Fixtures
import Foundation
import Glibc
import TestSupport
import TestVectors
import Testing

@Suite("The conformance command with other consumers", .timeLimit(.minutes(10)))
struct ConformanceTests {
    private func script(_ text: String, in simulation: Simulation) throws -> String {
        let path = try simulation.write("#!/bin/sh\n\(text)\n", as: "consumer")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    /// Runs a script as the consumer, and returns the report.
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

    @Test("A consumer that accepts everything fails defective files with accepts-bad and passes the rest")
    func acceptsEverything() async throws {
        let report = try await report("exit 0", "--only", "faults", in: try Simulation())
        let expected = expected(.faults)
        #expect(expected.count == 205)
        #expect(verdicts(report) == expected.mapValues { $0 == .refuse ? .acceptsBad : .pass })
    }

    @Test("A consumer that rejects everything fails valid files with refuses-good and passes the rest")
    func refusesEverything() async throws {
        let report = try await report("exit 1", "--only", "faults", in: try Simulation())
        #expect(verdicts(report) == expected(.faults).mapValues { $0 == .accept ? .refusesGood : .pass })
    }

    @Test(
        "A consumer that crashes or hangs, with or without children, gets the verdict crash or hang for every test vector",
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

    @Test("The exit code determines the verdict on a consumer that leaves a sleeping child process")
    func leavesSleeper() async throws {
        let report = try await report("sleep 1000 & exit 0", "--only", "archives", in: try Simulation())
        #expect(verdicts(report) == expected(.archives).mapValues { $0 == .refuse ? .acceptsBad : .pass })
    }

    @Test("OpenSSL opens all formats, accepts files without a MAC, and does not limit key derivations")
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

    @Test(
        "This package's own consumer passes every test vector except messages, with the expected exit codes",
        arguments: [
            ["--skip", "messages"], ["--profile", "purebred-sample", "--only", "archives", "policy"],
        ])
    func ours(options: [String]) async throws {
        let simulation = try Simulation()
        let adapter = PackageFolder.path + "/docs/examples/consumers/keyshare-consumer"
        let run = try await simulation.provider(
            ["conformance", "--json", "--claims", "path", "--reports", "json", "--timeout", "60"]
                + options + [
                    "--", "/usr/bin/env", "KEYSHARE_CONSUMER=\(BuiltCommand.consumer.path)", adapter,
                    "{file}", "{password-file}", "{trust}", "{crl}", "{out}",
                ])
        let report = try run.document(ConformanceReport.self)
        let failed = report.results.filter { $0.verdict != .pass }
        #expect(failed.isEmpty, "\(failed.map { "\($0.name): \($0.verdict), \($0.seen)" })")
        #expect(run.status == 0)
        // The adapter imports the file without requirements, and verifies what it imported.
        let vectors = Dictionary(uniqueKeysWithValues: TestVector.all.map { ($0.name, $0) })
        for result in report.results {
            guard let expected = vectors[result.name]?.expectation, expected.requiring.isEmpty else {
                continue
            }
            let code = expected.importing == 0 ? expected.verifying ?? 0 : expected.importing
            #expect(result.exitCode.map(Int.init) == code, "\(result.name)")
        }
    }

    // MARK: - The command and its surroundings

    @Test("The consumer runs in the caller's folder, can write to {out}, and uses a new device")
    func surroundings() async throws {
        let simulation = try Simulation()
        let seen = simulation.scratch.path("seen")
        let consumer = try script(
            "touch $2/file && echo \"$PWD $KEYSHARE_DEVICE\" >> \(seen); exit 0", in: simulation)
        try await simulation.provider(
            "conformance", "--only", "signature-modern", "service-sound", "--", consumer, "{file}", "{out}")
        let lines = String(decoding: try simulation.scratch.read("seen"), as: UTF8.self).split(
            separator: "\n")
        #expect(lines.count == 2)
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            #expect(words.first == FileManager.default.currentDirectoryPath)
            #expect(words.last != simulation.device && words.last?.isEmpty == false)
        }
        #expect(Set(lines).count == 2)
    }

    @Test(
        "A consumer that fails on valid files ends the run with exit code 64 and its own error message",
        arguments: [
            ("echo 'usage: consumer FILE' >&2; exit 64", "usage: consumer FILE"),
            ("echo \"cannot open $1\" >&2; exit 2", "cannot open "),
            ("exec /nowhere/interpreter", "missing program"),
        ])
    func unusable(text: String, words: String) async throws {
        let simulation = try Simulation()
        let run = try await simulation.provider(
            "conformance", "--only", "signature-modern", "signature-compatible", "signature-purebred-sample",
            "--", try script(text, in: simulation), "{file}")
        #expect(run.status == 64 && run.text.isEmpty)
        #expect(run.errors.contains(words), "\(run.errors)")
        #expect(run.errors.contains("no test vector was judged"), "\(run.errors)")
    }

    @Test(
        "The final hint contains a command that writes the failed files byte for byte",
        arguments: [
            [], ["--seed", "7"],
            ["--at", "2026-03-01T12:00:00Z", "--profile", "compatible", "--person", "Jordan Rivera"],
            ["--password-file", "password"],
        ])
    func hint(options: [String]) async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("kept")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let password = try simulation.write("Another password\n", as: "password")
        let options = options.map { $0 == "password" ? password : $0 }
        let consumer = try script("cp \"$1\" \(folder); exit 1", in: simulation)
        let names = ["signature-modern", "with-chain", "two-identities", "expired"]
        let run = try await simulation.provider(
            ["conformance", "--only"] + names + options + ["--", consumer, "{file}"])
        #expect(run.status == 7)
        let hint = try #require(
            run.errors.split(separator: "\n").first { $0.hasPrefix("hint: to write the same files") })
        let command = try #require(hint.range(of: "keyshare-provider faults --write vectors ")).upperBound
        let words = hint[command...].matches(of: /'([^']*)'|\S+/).map { String($0.1 ?? $0.0) }
        let repeated = try await simulation.provider(
            ["faults", "--write", simulation.scratch.path("again")] + words)
        #expect(repeated.status == 0, "\(repeated.errors)")
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(kept.count == names.count)
        // The manifest, the authorities and their revocation lists
        #expect(try simulation.scratch.names(simulation.scratch.path("again")).count == names.count + 3)
        for name in kept {
            #expect(
                try simulation.scratch.read("kept/" + name) == simulation.scratch.read("again/" + name),
                "\(name)")
        }
    }

    @Test("Only the named test vectors are written, and names without a file are rejected")
    func writingByName() async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("some")
        let run = try await simulation.provider(
            "faults", "--write", folder, "--only", "garbage", "key-only", "zip-sl*", "--json")
        let written = try run.document(Fixtures.Manifest.self).vectors
        #expect(Set(written.map(\.name)).isSuperset(of: ["garbage", "zip-slip"]))
        #expect(
            written.allSatisfy { ["garbage", "key-only"].contains($0.name) || $0.name.hasPrefix("zip-sl") })
        #expect(try simulation.scratch.names(folder).count == written.count + 3)

        let elsewhere = simulation.scratch.path("none")
        for (names, message) in [
            (["garbag"], "did you mean \u{201C}garbage\u{201D}"),
            (["garbage", "messages"], "no test vectors of the groups service and messages"),
            (["service"], "no test vectors of the groups service and messages"),
        ] {
            let refused = try await simulation.provider(["faults", "--write", elsewhere, "--only"] + names)
            #expect(refused.status == 64 && refused.errors.contains(message), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: elsewhere))
        }
        #expect(try await simulation.provider("faults", "--only", "garbage").status == 64)
    }

    // MARK: - Reports and invalid input

    @Test("The command prints results and writes reports, even if one report cannot be written")
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
        "The page contains the file that was generated, even if the consumer replaces it, and no folder remains"
    )
    func replacedFile() async throws {
        let simulation = try Simulation()
        let secret = try simulation.write("secret", as: "secret")
        let consumer = try script(
            """
            rm -f "$1"; ln -s \(secret) "$1"; cd "$(dirname "$1")"
            python3 -c 'import os
            for _ in range(3000):
                os.mkdir("d"); os.chdir("d")'
            exit 1
            """, in: simulation)
        let folder = simulation.scratch.path("temporary")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let html = simulation.scratch.path("report.html")
        let run = try await simulation.provider(
            ["conformance", "--only", "ber-mac", "--html", html, "--", consumer, "{file}"],
            environment: ["TMPDIR": folder])
        #expect(run.status == 7, "\(run.errors)")
        let page = String(decoding: try simulation.scratch.read("report.html"), as: UTF8.self)
        #expect(page.contains("download=\"ber-mac.p12\" href=\"data:application/x-pkcs12;base64,M"))
        #expect(!page.contains(Data("secret".utf8).base64EncodedString()))
        #expect(try simulation.scratch.names(folder).isEmpty)
    }

    @Test(
        "A command that is missing or has no file placeholder is rejected before anything is created",
        arguments: [
            (["--", "/nowhere/tool", "{file}"], "cannot be run"), (["--", "true"], "{file}"),
            ([], "after --"),
            (["--only", "garbag", "--", "true", "{file}"], "did you mean \u{201C}garbage\u{201D}"),
            (["--refused-by", "1,x", "--", "true", "{file}"], "exit codes"),
            (["--skip", "formats", "faults", "archives", "--", "true", "{file}"], "every test vector"),
        ])
    func refused(arguments: [String], words: String) async throws {
        let simulation = try Simulation()
        let run = try await simulation.provider(["conformance"] + arguments)
        #expect(run.status == 64)
        #expect(run.errors.contains(words), "\(run.errors)")
        #expect(run.text.isEmpty)
    }

    @Test("Ctrl-C stops the consumer and marks the remaining test vectors as not-run")
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
        "The results page loads in a browser without errors, lists the failures, and fits a phone screen",
        .enabled(if: WebBrowser.isAvailable, "there is no chromium with a chromedriver"))
    func page() async throws {
        let run = try await SecondClient.python([PackageFolder.path + "/scripts/report-check"])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test("The list contains every test vector, including those of the groups service and messages")
    func list() async throws {
        let run = try await Simulation().provider("conformance", "--list", "--json")
        struct List: Decodable { let vectors: [TestVectorSuite.Entry] }
        let names = try run.document(List.self).vectors.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.count == 483 && Set(names) == Set(VectorSelection.vectorNames))
    }
}
