internal import KeySharing

/// Calls whose outcome several connections wait for, so that identical requests share one export.
///
/// A call is queued once for each waiting process, and runs when the first of those turns comes up. It is cancelled
/// when no connection waits for it any more. It is used only on the server's one event loop.
final class CoalescedCalls {
    /// Requests with equal keys share one call.
    struct Key: Hashable {
        /// The provider's name for the export.
        var name: ExactText
        /// The grant period. The password may differ in a later period (docs/rules.md R6.9).
        var period: UInt64?
    }

    /// A connection that waits for an outcome.
    struct Waiter {
        var connection: Int
        var token: Int
        var process: Int32
        /// Receives the outcome; nil if there is no room for the call.
        var done: (ProviderCall.Outcome?) -> Void
    }

    private struct Call {
        var execute: @Sendable () async -> ProviderCall.Outcome
        var bytes: Int
        var waiters: [Waiter] = []
        /// The job of each waiting process in the queue.
        var queueEntries: [Int32: Int] = [:]
        /// Whether one of the jobs has begun. The jobs of the other processes have then been cancelled.
        var hasBegun = false
    }

    private let queue: CallQueue
    private var calls: [Key: Call] = [:]

    init(_ queue: CallQueue) {
        self.queue = queue
    }

    /// Adds `waiter` to the waiters of the call `key`. If the call is not queued yet, queues it with `execute`.
    ///
    /// - Returns: Whether the waiter was added; false if there is no room. `done` is then never called.
    func join(
        _ key: Key, bytes: Int, as waiter: Waiter,
        execute: @escaping @Sendable () async -> ProviderCall.Outcome
    ) -> Bool {
        var call = calls[key] ?? Call(execute: execute, bytes: bytes)
        call.waiters.append(waiter)
        calls[key] = call
        guard !call.hasBegun, call.queueEntries[waiter.process] == nil else { return true }
        enqueue(key, in: waiter.process)
        // A waiter without a job of its own depends on the jobs of other processes.
        guard calls[key]?.queueEntries.isEmpty == true else { return true }
        calls[key] = nil
        return false
    }

    /// Removes a connection from the waiters of a call.
    func leave(_ key: Key, connection: Int, token: Int) {
        guard var call = calls[key],
            let index = call.waiters.firstIndex(where: { $0.connection == connection && $0.token == token })
        else { return }
        let process = call.waiters.remove(at: index).process
        if call.waiters.isEmpty {
            calls[key] = nil
            call.queueEntries.values.forEach(queue.cancel)
            return
        }
        calls[key] = call
        // Cancel the job of this process if none of its connections waits. The jobs of other processes remain.
        guard !call.waiters.contains(where: { $0.process == process }) else { return }
        dequeue(key, of: process)
    }

    /// The number of calls that connections wait for.
    var count: Int { calls.count }

    private func enqueue(_ key: Key, in process: Int32) {
        guard let call = calls[key] else { return }
        let id = queue.submit(
            CallQueue.Job(
                process: process, bytes: call.bytes, execute: call.execute,
                begun: { [weak self] in self?.beginCall(key, process) },
                done: { [weak self] outcome in self?.finishCall(key, process, outcome) }))
        calls[key]?.queueEntries[process] = id
    }

    /// Records that the job of `process` has begun, and cancels the jobs of all other processes.
    private func beginCall(_ key: Key, _ process: Int32) {
        guard let queueEntries = calls[key]?.queueEntries else { return }
        calls[key]?.hasBegun = true
        for (other, id) in queueEntries where other != process {
            calls[key]?.queueEntries[other] = nil
            queue.cancel(id)
        }
    }

    /// Cancels the job of a process, unless it is the only one; then the call continues for the remaining waiters.
    private func dequeue(_ key: Key, of process: Int32) {
        guard let call = calls[key], !call.hasBegun, call.queueEntries.count > 1,
            let id = call.queueEntries[process]
        else { return }
        calls[key]?.queueEntries[process] = nil
        queue.cancel(id)
    }

    /// Receives the outcome of one process's job; nil if the job was displaced by another process's job.
    private func finishCall(_ key: Key, _ process: Int32, _ outcome: ProviderCall.Outcome?) {
        guard var call = calls[key] else { return }
        call.queueEntries[process] = nil
        if outcome == nil, !call.queueEntries.isEmpty {
            calls[key] = call
            return
        }
        calls[key] = nil
        call.queueEntries.values.forEach(queue.cancel)
        for waiter in call.waiters { waiter.done(outcome) }
    }
}
