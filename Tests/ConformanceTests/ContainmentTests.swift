import Conformance
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Processes under test")
struct ContainmentTests {
    private static let container = ProcessContainer(hasOtherChildren: true)

    private func run(
        _ script: String, in scratch: ScratchFolder, limits edit: (inout ProcessLimits) -> Void = { _ in }
    ) async -> ProcessResult {
        var limits = ProcessLimits()
        limits.time = 600
        edit(&limits)
        return await Self.container.run(
            "/bin/sh", ["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"], folder: scratch.path,
            limits: limits)
    }

    /// Whether none of the processes whose numbers stand in a file is there any more, not even as a zombie.
    private func areGone(_ file: String, in scratch: ScratchFolder) throws -> Bool {
        let numbers = String(decoding: try scratch.read(file), as: UTF8.self).split(separator: "\n")
            .compactMap { Int32($0) }
        return !numbers.isEmpty && numbers.allSatisfy { kill($0, 0) != 0 && errno == ESRCH }
    }

    @Test("An exit code, what was written, and the signal of a crash are told")
    func ends() async throws {
        let scratch = try ScratchFolder()
        let answer = await run("echo said; echo moaned >&2; exit 7", in: scratch)
        #expect(answer.end == .exit(7))
        #expect(answer.output == Array("said\n".utf8))
        #expect(answer.errors == Array("moaned\n".utf8))
        #expect(await run("kill -SEGV $$", in: scratch).end == .signal(SIGSEGV))
    }

    @Test("A program that does not end is ended, with everything that it started")
    func hangs() async throws {
        let scratch = try ScratchFolder()
        // On a busy machine the shell may take longer than its time to write who there is.
        for time in [0.2, 2, 20, 200] {
            let result = await run(
                "trap '' TERM; sleep 1000 & echo $! > pids; echo $$ >> pids; sleep 1000", in: scratch
            ) { $0.time = time }
            #expect(result.end == .overTime)
            if FileManager.default.fileExists(atPath: scratch.path("pids")) { break }
        }
        #expect(try areGone("pids", in: scratch))
    }

    @Test("What a program leaves behind is ended, in its own group and in others")
    func leavesBehind() async throws {
        let scratch = try ScratchFolder()
        let script = """
            sleep 1000 & echo $! > pids
            setsid sh -c 'echo $$ >> pids; sleep 1000 & echo $! >> pids; touch ready; sleep 1000' &
            until [ -e ready ]; do :; done
            """
        #expect(await run(script, in: scratch).end == .exit(0))
        #expect(try areGone("pids", in: scratch))
    }

    @Test("A program that takes more and more memory is ended")
    func takesMemory() async throws {
        let scratch = try ScratchFolder()
        #expect(await run("tail /dev/zero", in: scratch) { $0.memory = 64 << 20 }.end == .overMemory)
    }

    @Test("A program that starts more and more processes is ended")
    func forks() async throws {
        let scratch = try ScratchFolder()
        let script = "while :; do sleep 1000 & echo $! >> pids; done"
        #expect(await run(script, in: scratch) { $0.processes = 20 }.end == .overProcesses)
        #expect(try areGone("pids", in: scratch))
    }

    @Test("A thousand programs that fork and crash leave no process and no zombie")
    func thousand() async throws {
        let scratch = try ScratchFolder()
        try await withThrowingTaskGroup(of: ProcessEnd.self) { group in
            for batch in 0..<8 {
                let folder = scratch.path("\(batch)")
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            }
            for batch in 0..<8 {
                group.addTask {
                    for _ in 0..<125 {
                        let result = await Self.container.run(
                            "/bin/sh", ["sh", "-c", "sleep 1000 & echo $! >> pids; kill -KILL $$"],
                            environment: ["PATH": "/usr/bin:/bin"], folder: scratch.path("\(batch)"),
                            limits: ProcessLimits())
                        guard result.end == .signal(SIGKILL) else { return result.end }
                    }
                    return .exit(0)
                }
            }
            for try await end in group { #expect(end == .exit(0)) }
        }
        for batch in 0..<8 { #expect(try areGone("\(batch)/pids", in: scratch)) }
    }

    @Test("A program that is none, and one that nobody wants any more, are told apart")
    func notStarted() async throws {
        let scratch = try ScratchFolder()
        _ = try scratch.write(Array("no program".utf8), as: "text")
        let missing = await Self.container.run(
            scratch.path("text"), ["text"], environment: [:], folder: scratch.path, limits: ProcessLimits())
        #expect(missing.end == .notStarted(EACCES))
        let stopped = ProcessContainer(hasOtherChildren: true)
        stopped.stop()
        let result = await stopped.run(
            "/bin/true", ["true"], environment: [:], folder: scratch.path, limits: ProcessLimits())
        #expect(result.end == .stopped)
    }
}
