internal import Dispatch
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Threads that run the tasks of several client processes in turns.
///
/// A task runs in steps: from its start or its last suspension to the next `await`. The process that has waited longest
/// since its last step runs next, so a process with a thousand tasks delays the one task of another process by one step
/// for each thread, and not by a thousand. Long computations must therefore consist of several steps, as
/// `concurrentMap` arranges for the files of an archive.
///
/// The threads do not belong to Swift's own pool, so signals, shutdown and the replies of other services do not wait
/// for them.
package final class FairExecutor: Sendable {
    /// The executor of one process's tasks. Pass it as `Task(executorPreference:)`.
    package final class Lane: TaskExecutor {
        fileprivate let process: Int32
        private let executor: FairExecutor

        fileprivate init(process: Int32, executor: FairExecutor) {
            self.process = process
            self.executor = executor
        }

        /// Queues a step of a task for its turn.
        package func enqueue(_ job: consuming ExecutorJob) {
            executor.enqueue(UnownedJob(job), in: self)
        }
    }

    private struct Step {
        var job: UnownedJob
        var lane: Lane
        /// The sequence number of the step.
        var arrival: UInt64
    }

    private struct State {
        var waiting: [Int32: CircularBuffer<Step>] = [:]
        /// For each process, the turn number of its last step.
        var served: [Int32: UInt64] = [:]
        var turns: UInt64 = 0
        var arrivals: UInt64 = 0
    }

    /// The number of processes whose last turn is remembered. Processes with waiting steps are always remembered.
    private static let rememberedProcesses = 4_096

    private let state = Mutex(State())
    private let pool: NIOThreadPool
    private let priority: ThreadPriority

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - threads: The number of steps that run concurrently, at least 1.
    ///   - priority: The scheduling priority of the threads.
    package init(threads: Int, priority: ThreadPriority = .normal) {
        self.priority = priority
        pool = NIOThreadPool(numberOfThreads: max(threads, 1))
        pool.start()
    }

    /// Returns the executor for the tasks of a process.
    package func lane(of process: Int32) -> Lane {
        Lane(process: process, executor: self)
    }

    /// Stops the threads. A running step is finished. Steps that wait or arrive later run on a global dispatch queue,
    /// so that cancelled tasks can end.
    ///
    /// - Parameter ended: Called after the last thread has ended.
    package func stop(_ ended: @escaping @Sendable () -> Void) {
        pool.shutdownGracefully(queue: .global()) { _ in ended() }
    }

    private func enqueue(_ job: UnownedJob, in lane: Lane) {
        state.withLock { state in
            state.arrivals += 1
            state.waiting[lane.process, default: CircularBuffer()].append(
                Step(job: job, lane: lane, arrival: state.arrivals))
        }
        pool.submit { [self] poolState in
            switch poolState {
            case .active: runNext()
            case .cancelled: DispatchQueue.global().async { [self] in runNext() }
            }
        }
    }

    /// Runs one step of the process that has waited longest since its last step. This is called once for each waiting
    /// step.
    private func runNext() {
        let step = state.withLock { state -> Step? in
            let next = state.waiting.min { left, right in
                let order = (state.served[left.key] ?? 0, state.served[right.key] ?? 0)
                return order.0 == order.1
                    ? (left.value.first?.arrival ?? 0) < (right.value.first?.arrival ?? 0)
                    : order.0 < order.1
            }
            guard let process = next?.key, let step = state.waiting[process]?.popFirst() else { return nil }
            if state.waiting[process]?.isEmpty == true { state.waiting[process] = nil }
            if state.served.count >= Self.rememberedProcesses {
                state.served = state.served.filter { state.waiting[$0.key] != nil }
            }
            state.turns += 1
            state.served[process] = state.turns
            return step
        }
        guard let step else { return }
        // The pool has no callback for the start of a thread, and this call costs little compared with a step.
        priority.apply()
        unsafe step.job.runSynchronously(on: step.lane.asUnownedTaskExecutor())
    }
}
