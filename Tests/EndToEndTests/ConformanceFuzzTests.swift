import Conformance
import Foundation
import TestSupport
import TestVectors
import Testing

@Suite("The fuzzer of the conformance command", .timeLimit(.minutes(10)))
struct ConformanceFuzzTests {
    private func script(_ text: String, in simulation: Simulation) throws -> String {
        let path = try simulation.write("#!/bin/sh\n\(text)\n", as: "consumer")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    private func decoded<Document: Decodable>(_ type: Document.Type, _ path: String) throws -> Document {
        try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test("Each finding is a test vector with a command that repeats it, and the exit code is 7")
    func writesFindings() async throws {
        let simulation = try Simulation()
        let consumer = try script("exit 0", in: simulation)
        let folder = simulation.scratch.path("findings")
        let run = try await simulation.provider(
            "conformance", "--fuzz", "64", "--seed", "1", "-o", folder, "--json", "--", consumer, "{file}",
            "{password-file}")
        #expect(run.status == 7)
        let report = try run.document(FuzzReport.self)
        #expect(!report.findings.isEmpty && report.files > 32)
        let manifest = try decoded(TestVectorSuite.Manifest.self, folder + "/manifest.json")
        #expect(manifest.vectors.map(\.name) == report.findings.map(\.name))
        #expect(
            try decoded(FuzzReport.self, folder + "/findings.json").findings.count == report.findings.count)
        for finding in report.findings {
            let file = "\(folder)/\(finding.name).p12"
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == finding.file)
            #expect(finding.command == "\(consumer) \(file) \(folder)/\(finding.name).password")
        }
        let again = try await simulation.provider(
            "conformance", "--fuzz", "64", "--seed", "1", "--jobs", "1", "--json", "--", consumer, "{file}")
        #expect(try again.document(FuzzReport.self).findings.map(\.file) == report.findings.map(\.file))
        let started = simulation.scratch.path("started")
        let refused = try await simulation.provider(
            "conformance", "--fuzz", "64", "-o", folder, "--",
            try script("touch \(started)", in: simulation), "{file}")
        #expect(refused.status == 10 && refused.errors.contains("choose another folder with -o"))
        #expect(!FileManager.default.fileExists(atPath: started))
    }

    @Test("Without a command, the fuzzer tests this package's reader")
    func ownReader() async throws {
        let run = try await Simulation().provider("conformance", "--fuzz", "200", "--seed", "2")
        #expect(run.status == 0, "\(run.text)\(run.errors)")
        #expect(run.text.contains("0 findings"))
    }

    @Test("A consumer that is killed by a signal has crashed, even if a shell reports the signal")
    func crashes() async throws {
        let simulation = try Simulation()
        let consumer = try script(
            "[ $(head -c 2 \"$1\" | od -An -tx1 | tr -d ' ') = 3080 ] && kill -SEGV $$; exit 0",
            in: simulation)
        for words in [[consumer, "{file}"], ["/bin/sh", "-c", "\(consumer) {file}; exit $?"]] {
            let run = try await simulation.provider(
                ["conformance", "--fuzz", "150", "--seed", "1", "--json", "--"] + words)
            let findings = try run.document(FuzzReport.self).findings
            #expect(findings.contains { $0.outcome == .crash }, "\(findings.map(\.name))")
        }
    }

    @Test("A consumer that rejects valid files, and wrong options, end the command with 64")
    func usage() async throws {
        let simulation = try Simulation()
        let consumer = try script("echo no >&2; exit 1", in: simulation)
        let run = try await simulation.provider("conformance", "--fuzz", "10", "--", consumer, "{file}")
        #expect(run.status == 64 && run.errors.contains("rejects every valid file"), "\(run.errors)")
        for options in [
            ["--fuzz", "10x"], ["--fuzz", "0"], ["--fuzz", "10", "--list"], ["-o", "findings"],
            ["--fuzz", "10", "--only", "formats"],
        ] {
            #expect(try await simulation.provider(["conformance"] + options).status == 64, "\(options)")
        }
    }
}
