internal import NIOCore

/// The work of one kind that waits for the provider, with the threads that do it.
///
/// It is used on the server's one event loop only. Every piece of work belongs to a process; it ends in exactly one
/// call of `done`, unless it is cancelled, after which nothing is called.
final class WorkQueue {
    /// A piece of work: what it gives, and who wants it.
    struct Job {
        /// The process whose turn it takes.
        var process: Int32
        /// The bytes that it is expected to hold.
        var bytes: Int
        /// Does the work, off the event loop.
        var perform: @Sendable () async -> SessionWork.Outcome
        /// Told on the event loop when the work's turn has come.
        var begun: () -> Void = {}
        /// Receives the outcome on the event loop; nil where the work was given up for another process's.
        var done: (SessionWork.Outcome?) -> Void
    }

    private struct Entry {
        var job: Job
        /// The task that does the work; nil while it waits.
        var task: Task<Void, Never>?
    }

    private let executor: FairExecutor
    private let loop: ClosableEventLoop
    private let eventLoop: any EventLoop
    private var admission: WorkAdmission
    private var entries: [Int: Entry] = [:]
    private var lastID = 0

    init(
        _ limits: WorkAdmission.Limits, executor: FairExecutor, loop: ClosableEventLoop,
        eventLoop: any EventLoop
    ) {
        self.executor = executor
        self.loop = loop
        self.eventLoop = eventLoop
        admission = WorkAdmission(limits)
    }

    /// The number of pieces of work that wait for their process's turn.
    var waiting: Int { max(admission.count - admission.underWay, 0) }
    /// The number of pieces of work that have begun and not ended.
    var underWay: Int { admission.underWay }

    /// Takes work on.
    ///
    /// - Returns: The number by which it can be cancelled; nil where there is no room for it, and nothing is called.
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

    /// Drops work that nobody wants any more: at once where it waits, and at the work's next step where it has begun.
    func cancel(_ id: Int) {
        admission.withdraw(id)
        // Work that has begun ends in `finish`, which finds no entry and tells nobody.
        entries.removeValue(forKey: id)?.task?.cancel()
    }

    private func begin(_ id: Int) {
        guard let job = entries[id]?.job else { return }
        job.begun()
        let box = NIOLoopBound(self, eventLoop: eventLoop)
        entries[id]?.task = Task(executorPreference: executor.lane(of: job.process)) {
            [loop, perform = job.perform] in
            let outcome: SessionWork.Outcome? = Task.isCancelled ? nil : await perform()
            loop.execute { box.value.finish(id, outcome) }
        }
    }

    private func finish(_ id: Int, _ outcome: SessionWork.Outcome?) {
        if let next = admission.end(id) { begin(next) }
        entries.removeValue(forKey: id)?.job.done(outcome)
    }
}
