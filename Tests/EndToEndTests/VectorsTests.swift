import Foundation
import TestSupport
import Testing

@Suite("The data package of test vectors, and the examples for CI", .timeLimit(.minutes(10)))
struct VectorsTests {
    /// Runs a check script, which exits with 77 if a tool is missing.
    private func check(_ script: String) async throws {
        let run = try await SecondClient.python([PackageFolder.path + "/scripts/\(script)"])
        #expect([0, 77].contains(run.status), "\(run.output)")
    }

    @Test("Both forms conform to their schemas, contain the same files, and run in the example harness")
    func documents() async throws {
        try await check("vectors-check")
    }

    @Test("The steps of the CI examples run with and without a baseline, and the installed adapters work")
    func examples() async throws {
        try await check("examples-check")
    }

    @Test("vectors writes one form or both, and replaces files only with --force")
    func formats() async throws {
        let simulation = try Simulation()
        let folder = simulation.scratch.path("vectors")
        let arguments = ["vectors", "-o", folder, "--seed", "1", "--at", "2026-01-01", "--format", "json"]
        let first = try await simulation.provider(arguments + ["--json"])
        #expect(first.status == 0, "\(first.errors)")
        struct Summary: Decodable {
            let tests: Int?
            let vectors: Int?
            let files: [String]
        }
        let summary = try first.document(Summary.self)
        #expect(summary.files == ["pkcs12-vectors.json"] && summary.vectors == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["pkcs12-vectors.json"])
        let refused = try await simulation.provider(arguments)
        #expect(refused.status == 10 && refused.errors.contains("--force"))
        _ = try simulation.write("{}", as: "manifest.json")
        let other = try await simulation.provider(
            "vectors", "-o", simulation.scratch.path, "--format", "files")
        #expect(other.status == 10 && other.errors.contains("manifest.json already exists"))
        #expect(String(decoding: try simulation.scratch.read("manifest.json"), as: UTF8.self) == "{}")
        #expect(
            try await simulation.provider("vectors", "-o", "/proc/nowhere", "--format", "json").status == 73)
        #expect(try await simulation.provider("vectors", "-o", folder, "--format", "xml").status == 64)
        #expect(try await simulation.provider("vectors").status == 64)
    }

    @Test("If a file cannot be written completely, the folder of vectors is unchanged")
    func fullDisk() throws {
        let scratch = try ScratchFolder()
        // Blocks of 512 bytes. The ignored signal would end the command before it can report the error. Another format is
        // written in the same way, and generating a single vector is faster.
        try scratch.shell(
            """
            trap '' XFSZ
            limited() { (ulimit -f 1; exec '\(BuiltCommand.provider.path)' "$@") 2>>log; }
            status=0; limited faults --write v --only signature-modern --seed 1 || status=$?
            test $status -eq 74; test -z "$(ls -A v)"
            echo before >v/pkcs12-vectors.json
            status=0; limited vectors -o v --format json --seed 2 --force || status=$?
            test $status -eq 74; test "$(ls -A v)" = pkcs12-vectors.json; test "$(cat v/*)" = before
            """)
    }
}
