internal import Dispatch
package import Foundation
internal import Glibc
internal import Synchronization

/// The built commands. Their executables are in the folder `KEYSHARE_BIN`, as for the scripts, or in the folder of
/// the test runner.
package enum BuiltCommand: String, Sendable, CaseIterable {
    case provider = "keyshare-provider"
    case consumer = "keyshare-consumer"
    case device = "keyshare-device"

    /// The path of the executable.
    package var path: String { Self.folder.appendingPathComponent(rawValue).path }

    /// The path of the PKCS #11 module, which other programs load.
    package static var pkcs11Module: String { folder.appendingPathComponent("libkeyshare-pkcs11.so").path }

    /// The folder of the executables.
    package static var folder: URL {
        if let folder = ProcessInfo.processInfo.environment["KEYSHARE_BIN"] {
            return URL(fileURLWithPath: folder).absoluteURL
        }
        return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    }
}

/// The result of a command that has ended.
package struct CommandRun: Sendable {
    /// The exit code, or the negative number of the signal that ended the command.
    package let status: Int32
    /// The standard output of the command.
    package let output: Data
    /// The standard error of the command.
    package let errors: String

    /// Standard output as text.
    package var text: String { String(decoding: output, as: UTF8.self) }
}

/// A built command that runs for a test. Its output goes to files, so that no pipe can fill.
package final class RunningCommand {
    /// Foundation never releases the resources of a finished process. Here they remain reachable, so the
    /// address sanitizer does not report a leak.
    private static let kept = Mutex<[Process]>([])

    private let process = Process()
    private let scratch: ScratchFolder
    private let end = AsyncStream<Void>.makeStream()

    /// The variables that a command inherits. A command is built with the same sanitizer as the test, and uses the same
    /// clock.
    private static let inherited: Set = [
        "PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED",
        "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT",
    ]

    /// The inherited variables with their values, for tests that start a command from a shell.
    package static var inheritedEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { inherited.contains($0.key) }
    }

    /// Starts a command with only the given variables, `PATH`, a sanitizer's options, and the clock of
    /// scripts/test-clock in its environment.
    ///
    /// - Throws: An error if the executable cannot be started.
    package init(
        _ command: BuiltCommand, _ arguments: [String], environment: [String: String] = [:],
        input: Data = Data()
    ) throws {
        scratch = try ScratchFolder()
        for name in ["input", "output", "errors"] {
            _ = try scratch.write(name == "input" ? Array(input) : [], as: name)
        }
        process.executableURL = URL(fileURLWithPath: command.path)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
            .merging(Self.inheritedEnvironment) { $1 }
            .merging(["HOME": scratch.path]) { $1 }.merging(environment) { $1 }
        let handles = [
            FileHandle(forReadingAtPath: scratch.path("input")),
            FileHandle(forWritingAtPath: scratch.path("output")),
            FileHandle(forWritingAtPath: scratch.path("errors")),
        ]
        process.standardInput = handles[0]
        process.standardOutput = handles[1]
        process.standardError = handles[2]
        // The command has copies of these handles. If they remained open here, they would accumulate during a test run.
        defer { handles.forEach { try? $0?.close() } }
        // Waiting must not block one of the few threads that all tests share.
        process.terminationHandler = { [end] _ in end.continuation.finish() }
        Self.kept.withLock { [process] in $0.append(process) }
        try process.run()
    }

    /// The ID of the process.
    package var processIdentifier: Int32 { process.processIdentifier }

    /// Sends a signal to the command.
    package func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until the command ends, and returns the result.
    ///
    /// - Throws: An error if the output cannot be read; `CancellationError` if the test was cancelled before the command
    ///   ended.
    package func finish() async throws -> CommandRun {
        for await _ in end.stream {}
        try process.endIfCancelled()
        return CommandRun(
            status: process.terminationReason == .exit
                ? process.terminationStatus : -process.terminationStatus,
            output: Data(try scratch.read("output")),
            errors: String(decoding: try scratch.read("errors"), as: UTF8.self))
    }

    /// Waits until standard error contains `text`.
    ///
    /// The only event to wait for is the end of the command, so this polls standard error with pauses, and stops when
    /// the command has ended.
    ///
    /// - Throws: `EndedEarly` if the command ends without printing it.
    package func waitForError(containing text: String) async throws {
        try await wait(for: "errors") { $0.contains(text) }
    }

    /// Waits until standard error contains `text`, and returns standard error.
    ///
    /// - Throws: `EndedEarly` if the command ends without printing it.
    package func errors(upTo text: String) async throws -> String {
        try await waitForError(containing: text)
        return String(decoding: try scratch.read("errors"), as: UTF8.self)
    }

    /// Waits until the command's standard output satisfies `isEnough`.
    ///
    /// - Throws: `EndedEarly` if the command ends first.
    package func waitForOutput(_ isEnough: (String) -> Bool) async throws {
        try await wait(for: "output", isEnough)
    }

    private func wait(for file: String, _ isEnough: (String) -> Bool) async throws {
        try await wait { isEnough(String(decoding: try scratch.read(file), as: UTF8.self)) }
    }

    /// Waits until `isSo` returns true, while the command is running.
    ///
    /// - Throws: `EndedEarly` if the command ends first, and the error of `isSo`.
    package func wait(until isSo: () throws -> Bool) async throws {
        while true {
            let isRunning = process.isRunning
            if try isSo() { return }
            guard isRunning else {
                throw EndedEarly(errors: String(decoding: try scratch.read("errors"), as: UTF8.self))
            }
            await Self.stepAside()
        }
    }

    /// Pauses for a moment. `Task.sleep` is not suitable: if libfaketime has moved the clock, it pauses for as long as
    /// the clock was moved.
    private static func stepAside() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                usleep(2_000)
                continuation.resume()
            }
        }
    }

    /// A command that ended before it printed the expected text.
    package struct EndedEarly: Error {
        /// The standard error of the command.
        package let errors: String
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }
}
