import Foundation
import Glibc
import TestSupport
import Testing

@testable import Conformance

@Suite("Processes under test", .timeLimit(.minutes(10)))
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

    /// Returns whether all processes whose IDs are in a file have ended and been reaped.
    private func areGone(_ file: String, in scratch: ScratchFolder) throws -> Bool {
        let numbers = String(decoding: try scratch.read(file), as: UTF8.self).split(separator: "\n")
            .compactMap { Int32($0) }
        return !numbers.isEmpty && numbers.allSatisfy { kill($0, 0) != 0 && errno == ESRCH }
    }

    @Test("The result contains the exit code, the output, and the signal of a crash")
    func ends() async throws {
        let scratch = try ScratchFolder()
        let answer = await run("echo said; echo moaned >&2; exit 7", in: scratch)
        #expect(answer.end == .exit(7))
        #expect(answer.output == Array("said\n".utf8))
        #expect(answer.errors == Array("moaned\n".utf8))
        #expect(await run("kill -SEGV $$", in: scratch).end == .signal(SIGSEGV))
    }

    @Test("A program that does not end is killed with all its descendants")
    func hangs() async throws {
        let scratch = try ScratchFolder()
        // On a busy machine, the time limit can expire before the shell has written the process IDs.
        for time in [0.2, 2, 20, 200] {
            let result = await run(
                "trap '' TERM; sleep 1000 & echo $! > pids; echo $$ >> pids; sleep 1000", in: scratch
            ) { $0.time = time }
            #expect(result.end == .overTime)
            if FileManager.default.fileExists(atPath: scratch.path("pids")) { break }
        }
        #expect(try areGone("pids", in: scratch))
    }

    @Test("Descendants that outlive the program are killed, whether in its process group or in another")
    func killsDescendants() async throws {
        let scratch = try ScratchFolder()
        let script = """
            sleep 1000 & echo $! > pids
            setsid sh -c 'echo $$ >> pids; sleep 1000 & echo $! >> pids; touch ready; sleep 1000' &
            until [ -e ready ]; do :; done
            """
        #expect(await run(script, in: scratch).end == .exit(0))
        #expect(try areGone("pids", in: scratch))
    }

    @Test(
        "Links and FIFOs that a program puts in place of its output files are never opened",
        arguments: ["mkfifo stdout stderr", "ln -s /etc/passwd stdout; ln -s /etc/passwd stderr"])
    func replacedOutputs(replacement: String) async throws {
        let scratch = try ScratchFolder()
        let result = await run("rm -f stdout stderr; \(replacement); echo moaned >&2; exit 3", in: scratch)
        #expect(result.end == .exit(3))
        #expect(result.output.isEmpty)
        #expect(result.errors == Array("moaned\n".utf8))
    }

    @Test("A process that leaves its session, group and environment is still killed")
    func leavesEverything() async throws {
        let scratch = try ScratchFolder()
        let script = """
            (setsid env -i sh -c 'echo $$ > pids; exec sleep 1000' > /dev/null 2>&1 &)
            until [ -s pids ]; do :; done
            exit 1
            """
        #expect(await run(script, in: scratch).end == .exit(1))
        #expect(try areGone("pids", in: scratch))
    }

    @Test("Orphaned processes count against the process limit")
    func orphansCount() async throws {
        let scratch = try ScratchFolder()
        let script = """
            i=0; while [ $i -lt 40 ]; do (setsid env -i sleep 1000 & echo $! >> pids); i=$((i+1)); done; sleep 1000
            """
        let result = await run(script, in: scratch) {
            $0.processes = 20
            $0.time = 60
        }
        #expect(result.end == .overProcesses)
        #expect(try areGone("pids", in: scratch))
    }

    @Test("The memory of orphaned processes counts against the memory limit")
    func orphansUseMemory() async throws {
        let scratch = try ScratchFolder()
        let script = "(setsid tail /dev/zero & echo $! > pids); sleep 1000"
        let result = await run(script, in: scratch) {
            $0.memory = 64 << 20
            $0.time = 60
        }
        #expect(result.end == .overMemory)
        #expect(try areGone("pids", in: scratch))
    }

    @Test("A program that stops its parent process is killed with all its descendants")
    func stopsKeeper() async throws {
        let scratch = try ScratchFolder()
        let script = "sleep 1000 & echo $! > pids; echo $$ >> pids; kill -STOP $PPID; exec sleep 1000"
        let result = await run(script, in: scratch) { $0.time = 1 }
        #expect(result.end == .overTime)
        #expect(try areGone("pids", in: scratch))
    }

    @Test("The children of a process that proc hides are found, and a process that has ended has no children")
    func hiddenParent() throws {
        let scratch = try ScratchFolder()
        let own = getpid()
        for (process, name, parent) in [(70, "sh", own), (71, "a) S 1", own), (72, "sh", 70), (73, "sh", 2)] {
            try FileManager.default.createDirectory(
                atPath: scratch.path("\(process)"), withIntermediateDirectories: false)
            _ = try scratch.write(Array("\(process) (\(name)) S \(parent) 1 1".utf8), as: "\(process)/stat")
        }
        #expect(ProcessTable.children(of: own, in: scratch.path).sorted() == [70, 71])
        // No process ID exceeds the kernel's limit of 2^22 (proc(5)).
        _ = try scratch.write(Array("73 (sh) S 5000000 1 1".utf8), as: "73/stat")
        #expect(ProcessTable.children(of: 5_000_000, in: scratch.path).isEmpty)
        // Kernels without CONFIG_PROC_CHILDREN have no list of children.
        guard FileManager.default.fileExists(atPath: "/proc/self/task/\(own)/children") else { return }
        let task = scratch.path("\(own)/task/\(own)")
        try FileManager.default.createDirectory(atPath: task, withIntermediateDirectories: true)
        _ = try scratch.write(Array("81 82 ".utf8), as: "\(own)/task/\(own)/children")
        #expect(ProcessTable.children(of: own, in: scratch.path) == [81, 82])
    }

    @Test("A limit may be reached, but not exceeded by a single byte or process")
    func boundaries() {
        var limits = ProcessLimits()
        (limits.memory, limits.processes) = (1_000, 10)
        #expect(limits.excess(memory: 1_000, processes: 10) == nil)
        #expect(limits.excess(memory: 1_001, processes: 10) == .overMemory)
        #expect(limits.excess(memory: 1_000, processes: 11) == .overProcesses)
    }

    @Test("A program that allocates more and more memory is killed")
    func takesMemory() async throws {
        let scratch = try ScratchFolder()
        #expect(await run("tail /dev/zero", in: scratch) { $0.memory = 64 << 20 }.end == .overMemory)
    }

    @Test("A program that starts more and more processes is killed")
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

    @Test("A file that is not executable and a stopped container have different results")
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
