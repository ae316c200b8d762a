import CommandSupport
import Conformance
import Foundation
import KeyShareConsumerCommand
import TestCredentials
import TestSupport
import TestVectors
import Testing

@Suite("The conformance command with mail programs", .timeLimit(.minutes(10)))
struct ConformanceMessageTests {
    private let simulation: Simulation

    init() throws { simulation = try Simulation() }

    /// Runs a command on messages, and returns the verdicts other than `pass`.
    private func deviations(_ options: [String], _ command: [String]) async throws -> [String: Verdict] {
        let run = try await simulation.provider(
            ["conformance", "--json", "--timeout", "60"] + options + ["--"] + command)
        let report = try run.document(ConformanceReport.self)
        #expect(report.results.allSatisfy { $0.groups == [.messages] })
        #expect(run.status == (report.isPassed ? 0 : 7), "\(run.errors)")
        return Dictionary(
            uniqueKeysWithValues: report.results.filter { $0.verdict != .pass }.map { ($0.name, $0.verdict) })
    }

    private func adapter(_ name: String) -> String { PackageFolder.path + "/docs/examples/consumers/" + name }

    private func script(_ text: String) throws -> String {
        let path = try simulation.write("#!/bin/sh\n\(text)\n", as: "program")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    @Test("verify --message of this package judges every message correctly")
    func ours() async throws {
        let found = try await deviations(
            ["--only", "messages", "--claims", "path", "--refused-by", "4,5,7,9"],
            [
                "/usr/bin/env", "KEYSHARE_CONSUMER=\(BuiltCommand.consumer.path)", adapter("keyshare-verify"),
                "{file}", "{recipient}", "{password-file}", "{trust}", "{crl}", "{date}",
            ])
        #expect(found == [:])
    }

    @Test("This package's decrypt command passes every message test vector")
    func decrypt() async throws {
        let consumer = BuiltCommand.consumer.path
        let program = try script(
            """
            \(consumer) import --file "$2" --password-file "$3" </dev/null >/dev/null 2>&1 || exit 70
            exec \(consumer) decrypt "$1" -o "$4/content" </dev/null
            """)
        let found = try await deviations(
            ["--only", "messages", "--refused-by", "4,5,7,9"],
            [program, "{file}", "{recipient}", "{password-file}", "{out}"])
        #expect(found == [:])
    }

    @Test("openssl cms verifies signatures and paths, but compares neither From nor protected fields")
    func openssl() async throws {
        let found = try await deviations(
            ["--only", "messages", "--claims", "path", "--refused-by", "1,2"],
            [
                adapter("openssl-cms"), "{file}", "{recipient}", "{password-file}", "{trust}", "{crl}",
                "{date}",
                "{out}",
            ])
        let accepted = [
            "from-mismatch", "two-from", "no-from", "signed-by-list", "outer-from", "outer-from-wrapped",
            "protected-from-mismatch",
        ]
        #expect(
            found == Dictionary(uniqueKeysWithValues: accepted.map { ("message-\($0)", Verdict.acceptsBad) }))
    }

    @Test("Programs that accept or reject every message fail as expected", arguments: ["parse", "path"])
    func indiscriminate(claim: String) async throws {
        let claims = try #require(TestVectorClaim(rawValue: claim))
        let options = ["--only", "messages", "--claims", claim]
        func expected(_ answer: TestVectorOutcome.Answer, _ verdict: Verdict) -> [String: Verdict] {
            let names = MessageVector.all.filter {
                $0.entry(password: nil).expected[claims].answer == answer
            }.map(\.name)
            return Dictionary(uniqueKeysWithValues: names.map { ($0, verdict) })
        }
        let accepting = try await deviations(options, [try script("exit 0"), "{file}"])
        #expect(accepting == expected(.refuse, .acceptsBad) && !accepting.isEmpty)
        let rejecting = try await deviations(options, [try script("exit 1"), "{file}"])
        #expect(rejecting == expected(.accept, .refusesGood) && !rejecting.isEmpty)
    }

    @Test("-o writes messages, and verify --message reports the failing check that expected.json lists")
    func written() async throws {
        let folder = simulation.scratch.path("messages")
        let write = ["conformance", "--only", "messages", "-o", folder, "--seed", "1", "--at", "2026-03-01"]
        let run = try await simulation.provider(write + ["--json"])
        #expect(run.status == 0, "\(run.errors)")
        let expected = try run.document(MessageVectorSuite.Expectations.self)
        #expect(try simulation.scratch.names(folder).count == expected.messages.count + 4)
        let again = try await simulation.provider(write)
        #expect(again.status == 10 && again.errors.contains("choose another folder with -o"))
        let password = try simulation.write(expected.recipient.password + "\n", as: "password")
        #expect(
            try await simulation.consumer(
                "import", "--file", "\(folder)/\(expected.recipient.file)", "--password-file", password
            ).status == 0)
        let verification = try await simulation.consumer(
            [
                "verify", "--trust", "\(folder)/\(expected.trust)", "--crl",
                "\(folder)/\(expected.revocations)",
                "--at", expected.date, "--json", "--message",
            ] + expected.messages.map { "\(folder)/\($0.file)" })
        let document = try verification.document(VerificationDocument.self)
        let verdicts = Dictionary(
            uniqueKeysWithValues: (document.messages ?? []).map { ($0.file, $0) })
        for message in expected.messages {
            let verdict = try #require(verdicts["\(folder)/\(message.file)"])
            let parts = verdict.parts.filter { !$0.forwarded && $0.container == nil }
            let checks = verdict.checks + parts.flatMap { $0.checks + $0.signers.flatMap(\.checks) }
            let failing = Set(
                checks.filter { $0.outcome == "fail" || $0.outcome == "not settled" }.map(\.check))
            #expect(verdict.valid == (message.check == nil), "\(message.name): \(failing)")
            if let check = message.check { #expect(failing.contains(check), "\(message.name): \(failing)") }
        }
    }

    @Test("Messages run only if they are named, and -o writes only messages")
    func selection() async throws {
        #expect(VectorSelection().messages.isEmpty && VectorSelection(skip: ["messages"]).messages.isEmpty)
        #expect(VectorSelection(only: ["message-altered*"]).messages.count == 5)
        #expect(VectorSelection(only: ["messages"]).files.isEmpty)
        let folder = simulation.scratch.path("none")
        for options in [["-o", folder], ["--only", "faults", "-o", folder]] {
            let run = try await simulation.provider(["conformance"] + options)
            #expect(run.status == 64 && run.errors.contains("--only messages"), "\(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test("The report contains the failed messages, and the hint's command writes the same bytes")
    func hint() async throws {
        let kept = simulation.scratch.path("kept.eml")
        let html = simulation.scratch.path("report.html")
        let run = try await simulation.provider(
            "conformance", "--only", "message-signed", "--html", html, "--",
            try script("cp \"$1\" \(kept); exit 1"), "{file}")
        #expect(run.status == 7)
        #expect(
            String(decoding: try simulation.scratch.read("report.html"), as: UTF8.self)
                .contains("download=\"message-signed.eml\" href=\"data:"))
        let hint = try #require(run.errors.split(separator: "\n").first { $0.hasPrefix("hint: ") })
        let words = try #require(hint.range(of: "keyshare-provider ")).upperBound
        let command = hint[words...].split(separator: " ").map(String.init)
        let folder = simulation.scratch.path("again")
        let place = try #require(command.firstIndex(of: "-o")) + 1
        let repeated = try await simulation.provider(
            Array(command[..<place]) + [folder] + Array(command[(place + 1)...]))
        #expect(repeated.status == 0, "\(repeated.errors)")
        #expect(
            try simulation.scratch.read("kept.eml") == simulation.scratch.read("again/message-signed.eml"))
    }
}
