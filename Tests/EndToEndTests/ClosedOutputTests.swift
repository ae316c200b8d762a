import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Closed output", .timeLimit(.minutes(10)))
struct ClosedOutputTests {
    /// Runs a command whose given output is a pipe that its reader has closed, as `head` does.
    ///
    /// - Returns: The exit code, and what the command wrote to the other output.
    private func run(
        _ command: BuiltCommand, _ arguments: [String], closing descriptor: CInt, device: String
    ) async throws -> (status: Int32, other: String) {
        var ends: [CInt] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        close(ends[0])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command.path)
        process.arguments = arguments
        process.environment = ["KEYSHARE_DEVICE": device, "PATH": "/usr/bin:/bin"]
        let closed = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let scratch = try ScratchFolder()
        _ = try scratch.write([], as: "other")
        let other = try #require(FileHandle(forWritingAtPath: scratch.path("other")))
        process.standardOutput = descriptor == STDOUT_FILENO ? closed : other
        process.standardError = descriptor == STDERR_FILENO ? closed : other
        process.standardInput = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let said = try String(contentsOfFile: scratch.path("other"), encoding: .utf8)
        return (process.terminationStatus, said)
    }

    @Test("A command whose standard output is closed exits with 141 and prints no message")
    func standardOutput() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--count", "20", "--generations", "1")
        let runs: [(BuiltCommand, [String])] = [
            (.provider, ["list"]), (.provider, ["list", "--json"]), (.provider, ["list", "PIV"]),
            (.provider, ["trust"]), (.provider, ["export", "PIV.zip"]), (.provider, ["faults"]),
            (.provider, ["--help"]), (.provider, ["provision", "--help"]), (.consumer, ["--version"]),
            (.consumer, ["browse", "--colour", "--json"]), (.device, ["apps"]),
            (.device, ["apps", "--json"]),
        ]
        for (command, arguments) in runs {
            let (status, errors) = try await run(
                command, arguments, closing: STDOUT_FILENO, device: simulation.device)
            if arguments.contains("--colour") {
                // The usage error is still reported; only the document cannot be written.
                #expect(status == 64 && errors.contains("--colour"))
            } else {
                #expect(status == 141, "\(arguments): \(errors)")
                #expect(errors.isEmpty, "\(arguments)")
            }
        }
    }

    @Test("A closed standard error changes neither the output nor the exit code")
    func standardError() async throws {
        let simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        let listed = try await run(
            .provider, ["list", "-v"], closing: STDERR_FILENO, device: simulation.device)
        #expect(listed.status == 0 && listed.other.contains("Unfiltered.zip"))
        let missing = try await run(
            .provider, ["list", "Nobody"], closing: STDERR_FILENO, device: simulation.device)
        #expect(missing.status == 9 && missing.other.isEmpty)
    }

    @Test("Unlike a closed pipe, a full disk is reported as an error")
    func full() async throws {
        let simulation = try Simulation()
        try await simulation.device("unlock")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: BuiltCommand.provider.path)
        process.arguments = ["list"]
        process.environment = ["KEYSHARE_DEVICE": simulation.device]
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 74)
        #expect(said.contains("No space left on device"))
    }
}
