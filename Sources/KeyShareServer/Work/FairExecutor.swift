internal import Dispatch
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Threads that run the tasks of several peer processes in turns.
///
/// A task runs in steps: from its start, or from where it awaited something, to the next place where it awaits. Each
/// step is taken by the process whose last step is longest ago, so that a process with a thousand tasks delays the one
/// task of another process by one step for each thread, and not by a thousand. Work that takes long must therefore
/// consist of several steps, as `concurrentMap` makes them for the files of an archive.
///
/// The threads are not those of Swift's own pool: whatever happens here, signals, shutdown and the answers of other
/// services do not wait for it.
package final class FairExecutor: Sendable {
    /// The executor of one process's tasks, to be passed as `Task(executorPreference:)`.
    package final class Lane: TaskExecutor {
        fileprivate let process: Int32
        private let executor: FairExecutor

        fileprivate init(process: Int32, executor: FairExecutor) {
            self.process = process
            self.executor = executor
        }

        /// Lets a step of a task wait for its turn.
        package func enqueue(_ job: consuming ExecutorJob) {
            executor.enqueue(UnownedJob(job), in: self)
        }
    }

    private struct Step {
        var job: UnownedJob
        var lane: Lane
        /// The number of the step in the order of arrival.
        var arrival: UInt64
    }

    private struct State {
        var waiting: [Int32: CircularBuffer<Step>] = [:]
        /// For each process the number of the turn in which it had a step last.
        var served: [Int32: UInt64] = [:]
        var turns: UInt64 = 0
        var arrivals: UInt64 = 0
    }

    /// The number of processes whose last turn is remembered. Processes with waiting steps are never forgotten.
    private static let rememberedProcesses = 4_096

    private let state = Mutex(State())
    private let pool: NIOThreadPool
    private let turns: ThreadTurns

    /// Starts the threads.
    ///
    /// - Parameters:
    ///   - threads: The number of steps that run at a time, at least 1.
    ///   - turns: How the threads share the processor with others.
    package init(threads: Int, turns: ThreadTurns = .usual) {
        self.turns = turns
        pool = NIOThreadPool(numberOfThreads: max(threads, 1))
        pool.start()
    }

    /// Returns the executor for the tasks of a process.
    package func lane(of process: Int32) -> Lane {
        Lane(process: process, executor: self)
    }

    /// Ends the threads. A step that runs is finished, and steps that wait or come later run elsewhere: tasks that were
    /// cancelled before end there.
    ///
    /// - Parameter ended: Called once the last thread has ended.
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

    /// Runs one step of the process that has waited longest since its last one. Each step that waits calls this once.
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
        // The pool does not tell when a thread begins, and the call is nothing beside a step.
        turns.apply()
        unsafe step.job.runSynchronously(on: step.lane.asUnownedTaskExecutor())
    }
}
