internal import Foundation

/// Runs `scripts/toolbox/client.py` and other Python programs, and collects their output.
package enum SecondClient {
    /// Whether python3 is installed.
    package static let isAvailable = ["/usr/bin", "/bin", "/usr/local/bin"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + "/python3")
    }

    /// Runs `scripts/toolbox/client.py` with these arguments.
    package static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await python([PackageFolder.path + "/scripts/toolbox/client.py"] + arguments)
    }

    /// Runs Python with these arguments, in the environment of this process with additional variables.
    ///
    /// - Throws: `CancellationError` if the test was cancelled before the program ended.
    package static func python(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let scratch = try ScratchFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3"] + arguments
        // Scripts that need the commands use those that the tests use.
        process.environment = ProcessInfo.processInfo.environment
            .merging(["KEYSHARE_BIN": BuiltCommand.folder.path]) { $1 }.merging(environment) { $1 }
        let path = try scratch.write([], as: "output")
        let output = FileHandle(forWritingAtPath: path)
        process.standardOutput = output
        process.standardError = output
        let end = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.continuation.finish() }
        try process.run()
        for await _ in end.stream {}
        try process.endIfCancelled()
        return (process.terminationStatus, String(decoding: try scratch.read("output"), as: UTF8.self))
    }
}
