internal import CLinux
internal import Foundation
internal import Glibc
internal import Synchronization

/// The resource limits of a process under test.
package struct ProcessLimits: Sendable, Hashable {
    /// The maximum run time, in seconds.
    package var time: Double = 10
    /// The maximum total memory of the process and its descendants, in bytes.
    package var memory = 1 << 30
    /// The maximum number of simultaneous processes.
    package var processes = 64
    /// The maximum size of each file that the process writes, including standard output, in bytes.
    package var fileSize = 256 << 20

    /// Creates the default limits.
    package init() {}
}

/// How a process under test ended.
package enum ProcessEnd: Sendable, Hashable {
    case exit(Int32)
    case signal(Int32)
    /// The process was killed because it exceeded its maximum run time.
    case overTime
    /// The process was killed because it and its descendants used too much memory.
    case overMemory
    /// The process was killed because it and its descendants were too many processes.
    case overProcesses
    /// The process was killed because the run was stopped.
    case stopped
    /// The process could not be started. The value is the errno.
    case notStarted(Int32)

    /// The exit code. Nil if the process did not exit by itself.
    var exitCode: Int32? { if case .exit(let code) = self { code } else { nil } }
    /// The number of the signal that ended the process. Nil if the process exited, or if the container killed it.
    var signal: Int32? { if case .signal(let number) = self { number } else { nil } }
}

/// The result of a process under test.
package struct ProcessResult: Sendable {
    /// How the process ended.
    package let end: ProcessEnd
    /// The run time, in seconds.
    package let seconds: Double
    /// The first bytes of the process's standard output.
    package let output: [UInt8]
    /// The first bytes of the process's standard error.
    package let errors: [UInt8]

    /// Creates a result.
    package init(end: ProcessEnd, seconds: Double, output: [UInt8], errors: [UInt8]) {
        self.end = end
        self.seconds = seconds
        self.output = output
        self.errors = errors
    }
}

extension ProcessLimits {
    /// Returns the limit that a program and its descendants exceed in total, or nil.
    func excess(memory: Int, processes: Int) -> ProcessEnd? {
        if memory > self.memory { return .overMemory }
        return processes > self.processes ? .overProcesses : nil
    }
}

/// Runs programs that may hang, crash or exhaust the machine, and ends all their processes.
///
/// Each program runs below a keeper, a process that adopts the program's orphaned descendants. A descendant can leave
/// the program's session, group and environment, but not the process tree below the keeper. All processes in that tree
/// count against the limits. They are killed when the program has ended or has exceeded a limit.
package final class ProcessContainer: Sendable {
    private let isStopped = Atomic(false)
    /// The process IDs of the running keepers.
    private let keepers = Mutex<Set<Int32>>([])
    private let hasOtherChildren: Bool

    /// Makes this process adopt orphaned descendants if their keeper is killed.
    ///
    /// - Parameter hasOtherChildren: Whether this process has children that the container did not start. If so, a
    ///   program whose keeper was killed keeps running, because it cannot be distinguished from those children.
    package init(hasOtherChildren: Bool = false) {
        self.hasOtherChildren = hasOtherChildren
        // If the kernel rejects the call, init adopts and reaps the orphans.
        _ = clinux_adopt_orphans()
    }

    /// Ends every running program and starts no further ones.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    /// Whether ``stop()`` was called.
    package var wasStopped: Bool { isStopped.load(ordering: .relaxed) }

    /// Runs a program until it ends. Each program has its own thread, because the kernel kills the keeper and the
    /// program when the thread that started the keeper ends.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments, beginning with the program's name.
    ///   - environment: The environment of the program.
    ///   - folder: The working folder of the program.
    ///   - limits: The resource limits of the program.
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
        func unstarted(_ end: ProcessEnd) -> ProcessResult {
            ProcessResult(end: end, seconds: (clock.now - start) / .seconds(1), output: [], errors: [])
        }
        guard !wasStopped else { return unstarted(.stopped) }
        guard let output = ProcessOutputFile(), let errors = ProcessOutputFile() else {
            return unstarted(.notStarted(errno))
        }
        var keeper = Keeper()
        // Start and register the keeper under one lock, so that a thread that searches for orphans never sees an
        // unregistered keeper.
        let failure = keepers.withLock { keepers in
            let failure = keeper.start(
                program, arguments, environment.map { "\($0.key)=\($0.value)" }, folder, limits, output,
                errors)
            if failure == 0 { keepers.insert(keeper.process) }
            return failure
        }
        guard failure == 0 else { return unstarted(.notStarted(failure)) }
        defer { close(keeper.events) }
        let end = wait(for: keeper, limits, until: start + .seconds(limits.time))
        let isLost = !killAll(below: keeper)
        keepers.withLock { _ = $0.remove(keeper.process) }
        if isLost { killOrphans() }
        return ProcessResult(
            end: end, seconds: (clock.now - start) / .seconds(1), output: output.head(Self.largestOutput),
            errors: errors.head(Self.largestOutput))
    }

    /// Waits until the program ends or exceeds a limit.
    private func wait(
        for keeper: Keeper, _ limits: ProcessLimits, until deadline: ContinuousClock.Instant
    ) -> ProcessEnd {
        let clock = ContinuousClock()
        while true {
            let left = max(0, Int32((deadline - clock.now) / .milliseconds(1)))
            if keeper.waitForEvent(POLLIN, milliseconds: min(left, Self.pause)) { return keeper.readEnd() }
            if wasStopped { return .stopped }
            let use = TreeUse(below: keeper.process)
            if let excess = limits.excess(memory: use.memory, processes: use.processes) { return excess }
            if clock.now >= deadline { return .overTime }
        }
    }

    /// The time between two checks of a program's resource use, in milliseconds.
    private static let pause: Int32 = 20

    /// Kills all descendants of a keeper until the keeper ends, which it does when its last child has ended.
    ///
    /// - Returns: False if the keeper did not exit normally. Its children are then children of this process.
    private func killAll(below keeper: Keeper) -> Bool {
        for _ in 0..<Self.mostRounds {
            for process in ProcessTable.descendants(of: keeper.process) { kill(process, SIGKILL) }
            // The program may have stopped its keeper.
            kill(keeper.process, SIGCONT)
            if keeper.waitForEvent(0, milliseconds: Self.pause) { return keeper.reap() == 0 }
        }
        kill(keeper.process, SIGKILL)
        _ = keeper.reap()
        return false
    }

    /// The maximum number of attempts to kill the processes. Only a process that the kernel cannot interrupt survives
    /// all of them.
    private static let mostRounds = 500

    /// Kills all children of this process that are not keepers, with their descendants.
    private func killOrphans() {
        guard !hasOtherChildren else { return }
        for _ in 0..<Self.mostRounds {
            let orphans = keepers.withLock { keepers in
                ProcessTable.children(of: getpid()).filter { !keepers.contains($0) }
            }
            guard !orphans.isEmpty else { return }
            for orphan in orphans {
                for process in ProcessTable.descendants(of: orphan) + [orphan] { kill(process, SIGKILL) }
                // Do not wait: a process of another user, or one in an uninterruptible call, must not block the run.
                waitpid(orphan, nil, WNOHANG)
            }
            usleep(UInt32(Self.pause) * 1_000)
        }
    }

    /// The maximum number of bytes that are kept of each output.
    private static let largestOutput = 1 << 20
}

/// The process that starts a program and adopts its orphaned descendants.
private struct Keeper {
    var process: Int32 = 0
    /// The descriptor on which the keeper reports how the program ended. The other end closes when the keeper ends.
    var events: Int32 = -1

    /// Forks the keeper. Returns 0 or an errno.
    mutating func start(
        _ program: String, _ arguments: [String], _ environment: [String], _ folder: String,
        _ limits: ProcessLimits, _ output: ProcessOutputFile, _ errors: ProcessOutputFile
    ) -> Int32 {
        let input = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { return errno }
        defer { close(input) }
        // The kernel enforces these limits on each process, even between two checks of the container.
        let data = UInt64(clamping: limits.memory * 2)
        let seconds = UInt64(limits.time.rounded(.up)) + 1
        var bounds = clinux_limits(
            data: data, file_size: UInt64(clamping: limits.fileSize),
            processor_seconds: seconds * UInt64(max(ProcessInfo.processInfo.activeProcessorCount, 1)))
        return unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe clinux_spawn_contained(
                    program, arguments, environment, folder, input, output.descriptor, errors.descriptor,
                    &bounds, &process, &events)
            }
        }
    }

    /// Waits until the descriptor has an event, or until its other end closes. Returns false after the timeout.
    func waitForEvent(_ kind: Int32, milliseconds: Int32) -> Bool {
        var event = pollfd(fd: events, events: Int16(kind), revents: 0)
        return unsafe poll(&event, 1, milliseconds) > 0
    }

    /// Reads how the program ended.
    func readEnd() -> ProcessEnd {
        var event = clinux_contained_event()
        let size = MemoryLayout<clinux_contained_event>.size
        var got = 0
        repeat { got = unsafe read(events, &event, size) } while got < 0 && errno == EINTR
        // A killed keeper reports nothing, and its program is killed with it.
        guard got == size else { return .signal(SIGKILL) }
        guard event.kind == 0 else { return .notStarted(event.value) }
        let signal = event.value & 0x7F
        return signal == 0 ? .exit((event.value >> 8) & 0xFF) : .signal(signal)
    }

    /// Waits until the keeper ends, and returns its wait status.
    func reap() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }
}

/// A file without a path. A program writes to it through one descriptor, and this process reads it. The program cannot
/// replace the file, because it has no path.
private final class ProcessOutputFile {
    let descriptor: Int32

    /// Creates an empty file in the folder for temporary files. Returns nil and sets errno if that fails.
    init?() {
        let path = FileManager.default.temporaryDirectory.path + "/keyshare-output-" + UUID().uuidString
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        unsafe unlink(path)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Returns the first bytes of the file, at most `limit`.
    func head(_ limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < limit {
            let got = unsafe pread(
                descriptor, &chunk, min(chunk.count, limit - bytes.count), off_t(bytes.count))
            if got < 0 && errno == EINTR { continue }
            guard got > 0 else { break }
            bytes += chunk.prefix(got)
        }
        return bytes
    }
}

/// Calls `body` with the strings as a null-terminated array of C strings.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(&copies)
}
