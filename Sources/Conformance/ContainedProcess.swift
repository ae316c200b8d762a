internal import CLinux
internal import Foundation
internal import Glibc
internal import Synchronization

/// What a process under test may use.
package struct ProcessLimits: Sendable, Hashable {
    /// The time from its start to its end, in seconds.
    package var time: Double = 10
    /// The memory of the process and its descendants together, in bytes.
    package var memory = 1 << 30
    /// How many processes there may be at a time.
    package var processes = 64
    /// The size of a file that it writes, standard output included, in bytes.
    package var fileSize = 256 << 20

    /// The usual limits.
    package init() {}
}

/// How a process under test ended.
package enum ProcessEnd: Sendable, Hashable {
    case exit(Int32)
    case signal(Int32)
    /// It was killed because its time was over.
    case overTime
    /// It was killed because it, or they together, had taken too much memory.
    case overMemory
    /// It was killed because it had started too many processes.
    case overProcesses
    /// It was killed because whoever ran it wants no more.
    case stopped
    /// It could not be started, with the errno.
    case notStarted(Int32)

    /// The exit code; nil where it did not end by itself, or a signal ended it.
    var exitCode: Int32? { if case .exit(let code) = self { code } else { nil } }
    /// The signal that ended it by itself; nil where none did.
    var signal: Int32? { if case .signal(let number) = self { number } else { nil } }
}

/// What came of a process under test.
package struct ProcessResult: Sendable {
    /// How it ended.
    package let end: ProcessEnd
    /// From its start to its end, in seconds.
    package let seconds: Double
    /// The first bytes of its standard output.
    package let output: [UInt8]
    /// The first bytes of its standard error.
    package let errors: [UInt8]

    /// A result by its parts.
    package init(end: ProcessEnd, seconds: Double, output: [UInt8], errors: [UInt8]) {
        self.end = end
        self.seconds = seconds
        self.output = output
        self.errors = errors
    }
}

/// Runs programs that may hang, crash, or take what they can get, so that nothing is left of them afterwards.
///
/// A program leads a process group of its own, which is killed when its leader has ended or a limit is passed. What it
/// left behind in other groups becomes a child of this process, is known by a mark in its environment, and is killed too.
/// Everything that was killed is waited for, so that no zombie stays.
package final class ProcessContainer: Sendable {
    private let isStopped = Atomic(false)
    private let counter = Atomic(0)
    private let mark = UUID().uuidString
    /// The programs that run or are about to be waited for.
    private let leaders = Mutex<Set<Int32>>([])
    private let hasOtherChildren: Bool

    /// Makes this process the parent of what programs leave behind.
    ///
    /// - Parameter hasOtherChildren: whether this process has children that others wait for. What ended by itself after
    ///   it had left its group cannot be told from them, and then stays a zombie as long as this process lives.
    package init(hasOtherChildren: Bool = false) {
        self.hasOtherChildren = hasOtherChildren
        // Where the kernel refuses, orphans go to the first process of the system, which waits for them too.
        _ = clinux_adopt_orphans()
    }

    /// Ends every program that runs, and starts no other.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    /// Whether ``stop()`` was called.
    package var wasStopped: Bool { isStopped.load(ordering: .relaxed) }

    /// Runs a program to its end on a thread of its own, because the kernel kills it together with the thread.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments, its name first.
    ///   - environment: its environment.
    ///   - folder: the folder that it runs in, which may hold files named `stdout` and `stderr` afterwards.
    ///   - limits: what it may use.
    package func run(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String,
        limits: ProcessLimits
    ) async -> ProcessResult {
        await withCheckedContinuation { continuation in
            let thread = Thread { [self] in
                continuation.resume(
                    returning: runHere(
                        program, arguments, environment: environment, folder: folder, limits: limits))
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    private func runHere(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String,
        limits: ProcessLimits
    ) -> ProcessResult {
        let clock = ContinuousClock()
        let start = clock.now
        func result(_ end: ProcessEnd) -> ProcessResult {
            let seconds = (clock.now - start) / .seconds(1)
            return ProcessResult(
                end: end, seconds: seconds, output: Self.head(of: folder + "/stdout"),
                errors: Self.head(of: folder + "/stderr"))
        }
        guard !wasStopped else { return result(.stopped) }
        let number = counter.add(1, ordering: .relaxed).newValue
        let runMark = "\(Self.markName)=\(mark)-\(number)"
        // Nobody takes the end of a program for an orphan's between its start and its place among the leaders.
        let (failure, process) = leaders.withLock { leaders in
            var process: Int32 = 0
            let failure = Self.start(
                program, arguments, environment.map { "\($0.key)=\($0.value)" } + [runMark], folder, limits,
                &process)
            if failure == 0 { leaders.insert(process) }
            return (failure, process)
        }
        guard failure == 0 else { return result(.notStarted(failure)) }
        let end = wait(for: process, limits, until: start + .seconds(limits.time))
        kill(-process, SIGKILL)
        var status: Int32 = 0
        _ = unsafe Self.waited(process, &status)
        leaders.withLock { _ = $0.remove(process) }
        reap(group: process, mark: runMark)
        return result(end ?? Self.end(status))
    }

    /// The variable by which the descendants of a program are known.
    private static let markName = "KEYSHARE_CONFORMANCE_RUN"

    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String], _ folder: String,
        _ limits: ProcessLimits, _ process: inout Int32
    ) -> Int32 {
        func descriptor(_ name: String) -> Int32 {
            unsafe open(folder + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        }
        let input = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        let (output, errors) = (descriptor("stdout"), descriptor("stderr"))
        defer { for descriptor in [input, output, errors] where descriptor >= 0 { close(descriptor) } }
        guard input >= 0, output >= 0, errors >= 0 else { return errno }
        // Watching is what tells of too much memory. The limit of each process is for the moment between two looks.
        let data = UInt64(clamping: limits.memory * 2)
        let seconds = UInt64(limits.time.rounded(.up)) + 1
        var bounds = clinux_limits(
            data: data, file_size: UInt64(clamping: limits.fileSize),
            processor_seconds: seconds * UInt64(max(ProcessInfo.processInfo.activeProcessorCount, 1)))
        return unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe clinux_spawn_contained(
                    program, arguments, environment, folder, input, output, errors, &bounds, &process)
            }
        }
    }

    /// Waits for the leader's end; gives why it has to be killed, or nil where it ended by itself.
    private func wait(
        for process: Int32, _ limits: ProcessLimits, until deadline: ContinuousClock.Instant
    ) -> ProcessEnd? {
        let descriptor = clinux_process_descriptor(process)
        defer { if descriptor >= 0 { close(descriptor) } }
        let clock = ContinuousClock()
        while true {
            let left = max(0, Int32((deadline - clock.now) / .milliseconds(1)))
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // A negative descriptor is not watched, and then this is a pause between two looks.
            let ready = unsafe poll(&event, 1, min(left, Self.pause))
            if ready > 0 || (descriptor < 0 && Self.hasEnded(process)) { return nil }
            if wasStopped { return .stopped }
            let use = GroupUse(of: process)
            if use.memory > limits.memory { return .overMemory }
            if use.processes > limits.processes { return .overProcesses }
            if clock.now >= deadline { return .overTime }
        }
    }

    /// How long nobody looks at what a process uses, in milliseconds.
    private static let pause: Int32 = 20

    private static func hasEnded(_ process: Int32) -> Bool {
        var information = unsafe siginfo_t()
        return unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
            && information.si_signo == SIGCHLD
    }

    private static func end(_ status: Int32) -> ProcessEnd {
        let signal = status & 0x7F
        return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
    }

    /// Kills and waits for what a program left behind, until nothing is found of it.
    private func reap(group: Int32, mark: String) {
        // Each round kills the parents of the next: what they leave behind becomes a child of this process.
        for _ in 0..<100 {
            while unsafe Self.waited(-group, nil) {}
            let children = ProcessTable.children(of: getpid())
            let left = children.filter { ProcessTable.environment(of: $0, has: mark) }
            guard !left.isEmpty else { return hasOtherChildren ? () : reapEnded(children) }
            for process in left {
                kill(process, SIGKILL)
                // Its children are in the same group as a rule, and are left to this process.
                let others = getpgid(process)
                let isForeign = others > 1 && others != getpgrp()
                if isForeign { kill(-others, SIGKILL) }
                _ = unsafe Self.waited(process, nil)
                while isForeign, unsafe Self.waited(-others, nil) {}
            }
        }
    }

    /// Waits for children that have ended, but for programs that another thread waits for.
    private func reapEnded(_ children: [Int32]) {
        leaders.withLock { leaders in
            for process in children where !leaders.contains(process) { waitpid(process, nil, WNOHANG) }
        }
    }

    /// Waits for the end of a child or of one of a group, whatever signals come; false where there is none.
    private static func waited(_ process: Int32, _ status: UnsafeMutablePointer<Int32>?) -> Bool {
        while true {
            if unsafe waitpid(process, status, 0) > 0 { return true }
            guard errno == EINTR else { return false }
        }
    }

    private static func head(of path: String) -> [UInt8] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        return Array((try? file.read(upToCount: largestOutput)) ?? Data())
    }

    /// How much of the output is kept, in bytes.
    private static let largestOutput = 1 << 20
}

/// Gives `body` the strings as C has them, with a null pointer behind the last.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(&copies)
}
