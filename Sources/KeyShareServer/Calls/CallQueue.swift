internal import NIOCore

/// A queue of calls of one kind, with the threads that run them.
///
/// It is used only on the server's one event loop. Every job belongs to a process. `done` is called exactly once for
/// each job, unless the job is cancelled.
final class CallQueue {
    /// A call with its owner and its callbacks.
    struct Job {
        /// The client process that the job is run for. Processes take turns.
        var process: Int32
        /// The expected memory, in bytes.
        var bytes: Int
        /// Runs the call, off the event loop.
        var execute: @Sendable () async -> ProviderCall.Outcome
        /// Called on the event loop when the job begins.
        var begun: () -> Void = {}
        /// Receives the outcome on the event loop; nil if the job was displaced by another process's job.
        var done: (ProviderCall.Outcome?) -> Void
    }

    private struct Entry {
        var job: Job
        /// The task that runs the job; nil while the job waits.
        var task: Task<Void, Never>?
    }

    private let executor: FairExecutor
    private let loop: ClosableEventLoop
    private let eventLoop: any EventLoop
    private var admission: CallAdmission
    private var entries: [Int: Entry] = [:]
    private var lastID = 0

    init(
        _ limits: CallAdmission.Limits, executor: FairExecutor, loop: ClosableEventLoop,
        eventLoop: any EventLoop
    ) {
        self.executor = executor
        self.loop = loop
        self.eventLoop = eventLoop
        admission = CallAdmission(limits)
    }

    /// The number of jobs that wait for their process's turn.
    var waiting: Int { max(admission.count - admission.underWay, 0) }
    /// The number of jobs that have begun and not ended.
    var underWay: Int { admission.underWay }

    /// Adds a job.
    ///
    /// - Returns: The id for `cancel(_:)`; nil if there is no room. `done` is then never called.
    func submit(_ job: Job) -> Int? {
        lastID += 1
        let id = lastID
        let (verdict, displaced) = admission.admit(id, process: job.process, bytes: job.bytes)
        if verdict != .refuse {
            entries[id] = Entry(job: job)
            if verdict == .begin { begin(id) }
        }
        for other in displaced {
            entries.removeValue(forKey: other)?.job.done(nil)
        }
        return verdict == .refuse ? nil : id
    }

    /// Cancels a job that no connection waits for: immediately if it waits, and at its next step if it has begun.
    func cancel(_ id: Int) {
        admission.withdraw(id)
        // A job that has begun ends in `finish`, which finds no entry and calls nothing.
        entries.removeValue(forKey: id)?.task?.cancel()
    }

    private func begin(_ id: Int) {
        guard let job = entries[id]?.job else { return }
        job.begun()
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        entries[id]?.task = Task(executorPreference: executor.lane(of: job.process)) {
            [loop, execute = job.execute] in
            let outcome: ProviderCall.Outcome? = Task.isCancelled ? nil : await execute()
            loop.execute { box.value.finish(id, outcome) }
        }
    }

    private func finish(_ id: Int, _ outcome: ProviderCall.Outcome?) {
        if let next = admission.end(id) { begin(next) }
        entries.removeValue(forKey: id)?.job.done(outcome)
    }
}
