import Dispatch
import KeyShareServer
import Synchronization
import TestSupport
import Testing

@Suite("Sharing threads fairly among processes", .timeLimit(.minutes(10)))
struct FairExecutorTests {
    @Test(
        "A single task waits for at most one task of a process with many tasks")
    func turns() async {
        let executor = FairExecutor(threads: 1)
        let order = Order()
        let held = DispatchSemaphore(value: 0)
        let greedy = executor.lane(of: 7)
        // It keeps the one thread busy until all other tasks wait.
        let first = Task(executorPreference: greedy) { held.wait() }
        let many = (0..<50).map { _ in Task(executorPreference: greedy) { order.add(7) } }
        let one = Task(executorPreference: executor.lane(of: 8)) { order.add(8) }
        held.signal()
        for task in [first, one] + many { await task.value }
        #expect((order.all.firstIndex(of: 8) ?? 99) <= 1, "\(order.all)")
        #expect(order.all.count == 51)
        await stop(executor)
    }

    @Test("A process that queues another task does not run before a process that has waited longer")
    func comeBack() async {
        let executor = FairExecutor(threads: 1)
        let order = Order()
        for process: Int32 in [8, 7] { await Task(executorPreference: executor.lane(of: process)) {}.value }
        let held = DispatchSemaphore(value: 0)
        let first = Task(executorPreference: executor.lane(of: 9)) { held.wait() }
        let tasks = [7, 8].map { (process: Int32) in
            Task(executorPreference: executor.lane(of: process)) { order.add(process) }
        }
        held.signal()
        for task in [first] + tasks { await task.value }
        #expect(order.all == [8, 7])
        await stop(executor)
    }

    @Test("Tasks that are queued after the threads have stopped still complete")
    func stopped() async {
        let executor = FairExecutor(threads: 1)
        let gate = Gate()
        let task = Task(executorPreference: executor.lane(of: 7)) { await gate.pass() }
        await gate.arrival()
        await stop(executor)
        gate.open()
        await task.value
    }

    private func stop(_ executor: FairExecutor) async {
        await withCheckedContinuation { continuation in executor.stop { continuation.resume() } }
    }

    private final class Order: Sendable {
        private let processes = Mutex<[Int32]>([])
        var all: [Int32] { processes.withLock { $0 } }
        func add(_ process: Int32) { processes.withLock { $0.append(process) } }
    }
}
