internal import Foundation

/// The threads of a server: separate pools for lookups, for exports, and for key uses. A lookup never waits for an
/// export, and a key use takes longer than a lookup but less time than an export.
struct CallExecutors: Sendable {
    let lookups: FairExecutor
    let exports: FairExecutor
    let keyUses: FairExecutor

    /// Starts the threads. Exports get one low-priority thread for each core, so that short calls get most of the CPU
    /// time. Lookups get at least two threads, because they wait for the disk.
    init() {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        lookups = FairExecutor(threads: max(cores, 2), priority: .shortSlices)
        exports = FairExecutor(threads: cores, priority: .background)
        keyUses = FairExecutor(threads: cores)
    }

    /// Stops the threads, and waits at most `patience` for running steps.
    func stop(patience: Duration) async {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        for executor in [lookups, exports, keyUses] {
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
