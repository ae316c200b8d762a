internal import Dispatch
package import Foundation
internal import Glibc
internal import Synchronization

/// The built commands, beside the test runner.
package enum BuiltCommand: String, Sendable, CaseIterable {
    case provider = "keyshare-provider"
    case consumer = "keyshare-consumer"
    case device = "keyshare-device"

    /// The binary's path.
    package var path: String { Self.beside(rawValue) }

    /// The path of the PKCS #11 module, which other programs load.
    package static var pkcs11Module: String { beside("libkeyshare-pkcs11.so") }

    private static func beside(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }
}

/// What came of running a command to its end.
package struct CommandRun: Sendable {
    /// The exit code; the negative number of the signal that ended the command, where one did.
    package let status: Int32
    /// What the command wrote to standard output.
    package let output: Data
    /// What the command wrote to standard error.
    package let errors: String

    /// Standard output as text.
    package var text: String { String(decoding: output, as: UTF8.self) }
}

/// A built command running for a test. Its output goes to files, so that no pipe can fill.
package final class RunningCommand {
    /// Foundation never lets go of what belongs to a process that ran. Kept here it can be reached, and is no
    /// leak to the address sanitizer.
    private static let kept = Mutex<[Process]>([])

    private let process = Process()
    private let scratch: ScratchFolder
    private let end = AsyncStream<Void>.makeStream()

    /// What a command gets of the caller's environment: it is built under the same sanitizer as the test, and
    /// lives at the same time.
    private static let inherited: Set = [
        "PATH", "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "LD_PRELOAD", "FAKETIME", "FAKETIME_SHARED",
        "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT",
    ]

    /// The variables of the caller that a command gets, for tests that start one by a shell.
    package static var inheritedEnvironment: [String: String] {
        ProcessInfo.processInfo.environment.filter { inherited.contains($0.key) }
    }

    /// Starts a command with nothing of the caller's environment but `PATH`, a sanitizer's options, a clock that
    /// scripts/test-clock has set, and what is given.
    ///
    /// - Throws: where the binary cannot be started.
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
        // The command has its own: those left open here add up over a run.
        defer { handles.forEach { try? $0?.close() } }
        // Waiting must not hold one of the few threads that every test shares.
        process.terminationHandler = { [end] _ in end.continuation.finish() }
        Self.kept.withLock { [process] in $0.append(process) }
        try process.run()
    }

    /// The process's identifier.
    package var processIdentifier: Int32 { process.processIdentifier }

    /// Sends a signal.
    package func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits for the end and gives what came of it.
    ///
    /// - Throws: where the output cannot be read.
    package func finish() async throws -> CommandRun {
        for await _ in end.stream {}
        return CommandRun(
            status: process.terminationReason == .exit
                ? process.terminationStatus : -process.terminationStatus,
            output: Data(try scratch.read("output")),
            errors: String(decoding: try scratch.read("errors"), as: UTF8.self))
    }

    /// Waits until standard error holds `text`.
    ///
    /// There is nothing to wait on but the command's end, so this looks, steps aside between looks, and gives up
    /// when the command has ended.
    ///
    /// - Throws: `EndedEarly` where the command ends without having said it.
    package func waitForError(containing text: String) async throws {
        try await wait(for: "errors") { $0.contains(text) }
    }

    /// What standard error holds once it holds `text`.
    ///
    /// - Throws: `EndedEarly` where the command ends without having said it.
    package func errors(upTo text: String) async throws -> String {
        try await waitForError(containing: text)
        return String(decoding: try scratch.read("errors"), as: UTF8.self)
    }

    /// Waits until what the command has written to standard output satisfies `isEnough`.
    ///
    /// - Throws: `EndedEarly` where the command ends without having written it.
    package func waitForOutput(_ isEnough: (String) -> Bool) async throws {
        try await wait(for: "output", isEnough)
    }

    private func wait(for file: String, _ isEnough: (String) -> Bool) async throws {
        try await wait { isEnough(String(decoding: try scratch.read(file), as: UTF8.self)) }
    }

    /// Waits until something is so that the running command brings about.
    ///
    /// - Throws: `EndedEarly` where the command ends without it, and what `isSo` throws.
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

    /// Gives way for a moment. Not by `Task.sleep`: with a clock that libfaketime has moved, that takes as long
    /// as the clock was moved.
    private static func stepAside() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                usleep(2_000)
                continuation.resume()
            }
        }
    }

    /// A command that ended before it said what was waited for.
    package struct EndedEarly: Error {
        /// What it did say.
        package let errors: String
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }
}
