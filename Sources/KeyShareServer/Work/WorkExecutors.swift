internal import Foundation

/// The threads of a server: some for look-ups, others for what takes long, so that a look-up never waits behind it, and
/// others again for uses of keys, which take less than a file and more than a look-up.
struct WorkExecutors: Sendable {
    let lookUps: FairExecutor
    let makings: FairExecutor
    let uses: FairExecutor

    /// Starts the threads: a core for each step of what takes long, which leaves short answers the greater share of a core,
    /// and at least two for look-ups, which wait for the disk.
    init() {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        lookUps = FairExecutor(threads: max(cores, 2), turns: .short)
        makings = FairExecutor(threads: cores, turns: .yielding)
        uses = FairExecutor(threads: cores)
    }

    /// Ends the threads, and waits for the steps that run, but no longer than `patience`.
    func stop(patience: Duration) async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        for executor in [lookUps, makings, uses] {
            executor.stop { end.yield() }
        }
        let timeout = Task {
            try? await Task.sleep(for: patience)
            end.finish()
        }
        var running = 3
        for await _ in ended {
            running -= 1
            if running == 0 { break }
        }
        timeout.cancel()
    }
}
