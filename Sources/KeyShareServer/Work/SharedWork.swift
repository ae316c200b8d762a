internal import KeySharing

/// Work whose outcome several connections wait for, so that what they ask for alike is made once.
///
/// The work stands in the line of every process that waits for it, and is done in the turn of the first that comes to
/// it. It is cancelled when nobody waits for it any more. It is used on the server's one event loop only.
final class SharedWork {
    /// What tells one piece of work from another.
    struct Key: Hashable {
        /// What the provider calls it.
        var name: ExactText
        /// The period of grants: a later period may have another password (docs/rules.md R6.9).
        var period: UInt64?
    }

    /// A connection that waits for an outcome.
    struct Waiter {
        var connection: Int
        var token: Int
        var process: Int32
        /// Receives the outcome; nil where there is no room for the work.
        var done: (SessionWork.Outcome?) -> Void
    }

    private struct Making {
        var perform: @Sendable () async -> SessionWork.Outcome
        var bytes: Int
        var waiters: [Waiter] = []
        /// The number of the work in the queue, for each process in whose line it stands.
        var places: [Int32: Int] = [:]
        /// Whether one of the places has come to its turn. The others have been given up then.
        var hasBegun = false
    }

    private let queue: WorkQueue
    private var makings: [Key: Making] = [:]

    init(_ queue: WorkQueue) {
        self.queue = queue
    }

    /// Lets `waiter` wait for the work of `key`, which is begun with `perform` where it is not under way already.
    ///
    /// - Returns: Whether it waits; false where there is no room, and nothing is called.
    func join(
        _ key: Key, bytes: Int, as waiter: Waiter,
        perform: @escaping @Sendable () async -> SessionWork.Outcome
    ) -> Bool {
        var making = makings[key] ?? Making(perform: perform, bytes: bytes)
        making.waiters.append(waiter)
        makings[key] = making
        guard !making.hasBegun, making.places[waiter.process] == nil else { return true }
        takePlace(key, in: waiter.process)
        // Without a place of its own, the waiter depends on those of others.
        guard makings[key]?.places.isEmpty == true else { return true }
        makings[key] = nil
        return false
    }

    /// Lets a connection wait no longer.
    func leave(_ key: Key, connection: Int, token: Int) {
        guard var making = makings[key],
            let index = making.waiters.firstIndex(where: { $0.connection == connection && $0.token == token })
        else { return }
        let process = making.waiters.remove(at: index).process
        if making.waiters.isEmpty {
            makings[key] = nil
            making.places.values.forEach(queue.cancel)
            return
        }
        makings[key] = making
        // Another waiter's process takes the place over, where this process does not wait any more.
        guard !making.waiters.contains(where: { $0.process == process }) else { return }
        giveUpPlace(key, of: process)
    }

    /// The number of makings that are asked for.
    var count: Int { makings.count }

    private func takePlace(_ key: Key, in process: Int32) {
        guard let making = makings[key] else { return }
        let id = queue.submit(
            WorkQueue.Job(
                process: process, bytes: making.bytes, perform: making.perform,
                begun: { [weak self] in self?.begin(key, process) },
                done: { [weak self] outcome in self?.finish(key, process, outcome) }))
        makings[key]?.places[process] = id
    }

    /// Gives up the places of all processes but the one whose turn it is.
    private func begin(_ key: Key, _ process: Int32) {
        guard let places = makings[key]?.places else { return }
        makings[key]?.hasBegun = true
        for (other, id) in places where other != process {
            makings[key]?.places[other] = nil
            queue.cancel(id)
        }
    }

    /// Ends the place of a process, unless it is the only one: then the work goes on for the others that wait.
    private func giveUpPlace(_ key: Key, of process: Int32) {
        guard let making = makings[key], !making.hasBegun, making.places.count > 1,
            let id = making.places[process]
        else { return }
        makings[key]?.places[process] = nil
        queue.cancel(id)
    }

    /// Takes the outcome of the place of one process; nil where that place was given to another process's work.
    private func finish(_ key: Key, _ process: Int32, _ outcome: SessionWork.Outcome?) {
        guard var making = makings[key] else { return }
        making.places[process] = nil
        if outcome == nil, !making.places.isEmpty {
            makings[key] = making
            return
        }
        makings[key] = nil
        making.places.values.forEach(queue.cancel)
        for waiter in making.waiters { waiter.done(outcome) }
    }
}
