import CommandSupport
import Foundation
import TestSupport
import Testing

/// scripts/toolbox/client.py was written from the protocol's document alone: where it works, the document is right.
@Suite(
    "A client written from the protocol's document alone",
    .enabled(if: SecondClient.isAvailable, "there is no python3"))
struct SecondClientTests {
    @Test("The second client lists what the provider's own command lists, over several pages too")
    func list() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--count", "25")
        try await simulation.serve()
        for container in ["root", "Encryption"] {
            let run = try await SecondClient.run([simulation.device + "/provider.sock", "list", container])
            #expect(run.status == 0, "\(run.output)")
            let expected = try await simulation.items(container).map(\.identifier)
            #expect(expected.count == (container == "root" ? 314 : 100))
            let listed = run.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
            #expect(listed.map(String.init) == expected)
        }
    }

    @Test("The second client fetches an item and its password, and an archive of many chunks")
    func fetch() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "40")
        try await simulation.serve()
        let file = try #require(try await simulation.items("Signature").first).identifier
        for item in [file, "Unfiltered.zip"] {
            let bytes = simulation.scratch.path("item")
            let password = simulation.scratch.path("password")
            let run = try await SecondClient.run(
                [simulation.device + "/provider.sock", "fetch", item, bytes, password])
            #expect(run.status == 0, "\(run.output)")
            let imported = try await simulation.consumer(
                "import", "--file", bytes, "--password-file", password, "--json")
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try imported.results().count == (item == file ? 1 : 120))
        }
        #expect(try simulation.scratch.read("item").count > 65_536)
    }

    @Test("The second client gets the failure of a missing item, by the number that the document gives it")
    func notThere() async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        let run = try await SecondClient.run([simulation.device + "/provider.sock", "list", "Nobody"])
        #expect(run.status == 1)
        #expect(run.output.contains("client.py: 4: "))
    }
}

/// Runs the client and collects what it prints.
enum SecondClient {
    static let isAvailable = ["/usr/bin", "/bin", "/usr/local/bin"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + "/python3")
    }

    static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await python([PackageFolder.path + "/scripts/toolbox/client.py"] + arguments)
    }

    /// Runs Python with these arguments, and these variables beside those of this process.
    static func python(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let scratch = try ScratchFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        // Scripts that need the commands take those that were built with the tests.
        let commands = URL(fileURLWithPath: BuiltCommand.device.path).deletingLastPathComponent().path
        process.environment = ProcessInfo.processInfo.environment
            .merging(["KEYSHARE_BIN": commands]) { $1 }.merging(environment) { $1 }
        let path = try scratch.write([], as: "output")
        let output = FileHandle(forWritingAtPath: path)
        process.standardOutput = output
        process.standardError = output
        let end = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.continuation.finish() }
        try process.run()
        for await _ in end.stream {}
        return (process.terminationStatus, String(decoding: try scratch.read("output"), as: UTF8.self))
    }
}
