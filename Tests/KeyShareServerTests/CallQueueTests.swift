import Dispatch
import KeySharing
import KeyShareWire
import LocalSockets
import Logging
import NIOCore
import NIOEmbedded
import PersistentToken
import Synchronization
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Queued calls of several processes", .timeLimit(.minutes(10)))
struct CallQueueTests {
    private let loop = NIOAsyncTestingEventLoop()
    private let executor = FairExecutor(threads: 2)
    private let outcomes = Lines()
    private let runs = Lines()

    /// The recorded outcomes or lines, in order.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Runs `body` with a queue in which each process has one running call at a time.
    private func withQueue(
        perProcess: Int = 9, total: Int = 9,
        _ body: (NIOLoopBound<CallQueue>, NIOLoopBound<CoalescedCalls>) async throws -> Void
    ) async throws {
        let (queue, calls) = try await loop.executeInContext { [loop, executor] in
            let queue = CallQueue(
                CallAdmission.Limits(underWayPerProcess: 1, perProcess: perProcess, total: total),
                executor: executor, loop: ClosableEventLoop(loop), eventLoop: loop)
            return (
                NIOLoopBound(queue, eventLoop: loop), NIOLoopBound(CoalescedCalls(queue), eventLoop: loop)
            )
        }
        try await body(queue, calls)
        await withCheckedContinuation { continuation in executor.stop { continuation.resume() } }
    }

    /// Submits a call that waits at a gate. Returns false if it is rejected.
    private func submit(
        _ name: String, of process: Int32, to queue: NIOLoopBound<CallQueue>, at gate: Gate
    ) async throws -> Bool {
        try await loop.executeInContext { [outcomes] in
            queue.value.submit(
                CallQueue.Job(
                    process: process, bytes: 1,
                    execute: {
                        await gate.pass()
                        return .content([])
                    }, done: { outcomes.add($0 == nil ? name + " displaced" : name) })) != nil
        }
    }

    private static let key = CoalescedCalls.Key(name: ExactText("export"), period: 1)

    /// Lets a connection wait for the shared call, which waits at a gate. Returns false if it is rejected.
    private func join(
        _ connection: Int, of process: Int32, _ calls: NIOLoopBound<CoalescedCalls>, at gate: Gate
    ) async throws -> Bool {
        try await loop.executeInContext { [outcomes, runs] in
            calls.value.join(
                Self.key, bytes: 1,
                as: CoalescedCalls.Waiter(
                    connection: connection, token: 1, process: process,
                    done: { outcomes.add($0 == nil ? "\(connection) displaced" : "\(connection)") })
            ) {
                runs.add("shared")
                await gate.pass()
                return .content([])
            }
        }
    }

    private func leave(_ connection: Int, _ calls: NIOLoopBound<CoalescedCalls>) async throws {
        try await loop.executeInContext { calls.value.leave(Self.key, connection: connection, token: 1) }
    }

    private func waiting(_ queue: NIOLoopBound<CallQueue>) async throws -> Int {
        try await loop.executeInContext { queue.value.waiting }
    }

    private func underWay(_ queue: NIOLoopBound<CallQueue>) async throws -> Int {
        try await loop.executeInContext { queue.value.underWay }
    }

    /// Runs the event loop until a number of calls have an outcome.
    private func complete(_ count: Int) async {
        while outcomes.all.count < count {
            await loop.run()
            await Task.yield()
        }
    }

    @Test("A call that another process displaces is answered immediately")
    func displaced() async throws {
        let gate = Gate()
        try await withQueue(total: 3) { (queue, _) async throws in
            for name in ["a", "b", "c"] { #expect(try await submit(name, of: 1, to: queue, at: gate)) }
            #expect(try await submit("d", of: 2, to: queue, at: gate))
            #expect(outcomes.all == ["c displaced"])
            gate.open()
            await complete(4)
            #expect(outcomes.all.sorted() == ["a", "b", "c displaced", "d"])
        }
    }

    @Test("A shared call runs once, and then waits in no other process's queue")
    func shared() async throws {
        let (first, second, gate) = (Gate(), Gate(), Gate())
        try await withQueue { (queue, calls) async throws in
            #expect(try await submit("first", of: 1, to: queue, at: first))
            #expect(try await submit("second", of: 2, to: queue, at: second))
            #expect(try await join(10, of: 1, calls, at: gate))
            #expect(try await join(20, of: 2, calls, at: gate))
            #expect(try await waiting(queue) == 2)
            first.open()
            await complete(1)
            await gate.arrival()
            #expect(try await waiting(queue) == 0)
            #expect(try await join(30, of: 3, calls, at: gate))
            #expect(try await underWay(queue) == 2)
            second.open()
            gate.open()
            await complete(5)
            #expect(outcomes.all.sorted() == ["10", "20", "30", "first", "second"])
            #expect(runs.all == ["shared"])
        }
    }

    @Test("A shared call that is displaced in one queue runs in another, and fails only if no other is left")
    func displacedShared() async throws {
        let (busy, gate) = (Gate(), Gate())
        try await withQueue(total: 5) { (queue, calls) async throws in
            for (name, process) in [("a", 1), ("b", 1), ("c", 2)] as [(String, Int32)] {
                #expect(try await submit(name, of: process, to: queue, at: busy))
            }
            #expect(try await join(10, of: 1, calls, at: gate))
            #expect(try await join(20, of: 2, calls, at: gate))
            // The newest call of process 1 is the shared one.
            #expect(try await submit("d", of: 3, to: queue, at: busy))
            #expect(outcomes.all.isEmpty)
            #expect(try await loop.executeInContext { calls.value.count } == 1)
            busy.open()
            gate.open()
            await complete(6)
            #expect(outcomes.all.sorted() == ["10", "20", "a", "b", "c", "d"])
            #expect(runs.all == ["shared"])
        }
    }

    @Test("A call that is cancelled before its first step never starts")
    func cancelledBeforeStart() async throws {
        let executor = FairExecutor(threads: 1)
        let held = DispatchSemaphore(value: 0)
        let first = Task(executorPreference: executor.lane(of: 9)) { held.wait() }
        try await loop.executeInContext { [loop, outcomes, runs] in
            let queue = CallQueue(
                CallAdmission.Limits(underWayPerProcess: 2, perProcess: 9, total: 9), executor: executor,
                loop: ClosableEventLoop(loop), eventLoop: loop)
            let ids = ["cancelled", "kept"].map { name in
                queue.submit(
                    CallQueue.Job(
                        process: 1, bytes: 1,
                        execute: {
                            runs.add(name)
                            return .content([])
                        }, done: { _ in outcomes.add(name) }))
            }
            queue.cancel(try #require(ids[0]))
        }
        held.signal()
        await first.value
        await complete(1)
        #expect(outcomes.all == ["kept"] && runs.all == ["kept"])
        await withCheckedContinuation { continuation in executor.stop { continuation.resume() } }
    }

    @Test("A shared call leaves the queue of a process when the process's last connection leaves")
    func left() async throws {
        let (busy, gate) = (Gate(), Gate())
        try await withQueue { (queue, calls) async throws in
            #expect(try await submit("first", of: 1, to: queue, at: busy))
            #expect(try await submit("second", of: 2, to: queue, at: busy))
            for (connection, process) in [(10, 1), (11, 1), (20, 2)] as [(Int, Int32)] {
                #expect(try await join(connection, of: process, calls, at: gate))
            }
            for (connection, expected) in [(99, 2), (10, 2), (11, 1), (20, 0)] {
                try await leave(connection, calls)
                #expect(try await waiting(queue) == expected)
            }
            busy.open()
            await complete(2)
            #expect(runs.all.isEmpty)
        }
    }

    @Test("A shared call for which there is no room has no waiters")
    func noRoom() async throws {
        let gate = Gate()
        try await withQueue(perProcess: 1) { (queue, calls) async throws in
            #expect(try await submit("first", of: 1, to: queue, at: gate))
            #expect(try await !join(10, of: 1, calls, at: gate))
            #expect(try await loop.executeInContext { calls.value.count } == 0)
            gate.open()
            await complete(1)
            #expect(outcomes.all == ["first"])
        }
    }

    @Test("Only a few cheap key uses and one moderate key use are computed on the event loop")
    func computations() async throws {
        let (executors, emptied) = (CallExecutors(), loop.makePromise(of: Void.self))
        let gate = Gate()
        try await loop.executeInContext { [loop] in
            let registry = ConnectionRegistry(
                service: StandInProvider(count: 1), limits: .withoutDeadlines, serverName: "test",
                services: [], fault: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                emptied: emptied, abandoned: AbandonedConnectionCount(), loop: ClosableEventLoop(loop),
                executors: executors, eventLoop: loop)
            for (cost, computed, expected) in [
                (OpenedTokenUse.Cost.low, 0, true), (.low, 7, true), (.low, 8, false), (.moderate, 0, true),
                (.moderate, 1, false), (.high, 0, false),
            ] {
                #expect(registry.computesOnEventLoop(cost, after: computed) == expected)
            }
            let job = CallQueue.Job(
                process: 1, bytes: 1,
                execute: {
                    await gate.pass()
                    return .content([])
                }, done: { _ in })
            #expect(registry.keyUses.submit(job) != nil)
            #expect(!registry.computesOnEventLoop(.moderate, after: 0))
            #expect(registry.computesOnEventLoop(.low, after: 0))
        }
        gate.open()
        await executors.stop(patience: .seconds(60))
        emptied.succeed()
    }

    @Test("A repeated event is logged at most once a second, and not after it has ended")
    func repetitions() {
        let (loop, lines) = (EmbeddedEventLoop(), RecordingLogHandler.Lines())
        let limiter = RepetitionLimiter(loop, Logger(label: "test") { _ in RecordingLogHandler(lines) })
        func line(_ count: Int) -> String { "event [\"count=\(count)\"]" }
        for _ in 0..<3 { limiter.log(.warning, "event", [:]) }
        #expect(lines.all == [line(1)])
        for _ in 0..<3 { loop.advanceTime(by: .seconds(1)) }
        #expect(lines.all == [line(1), line(2)])
        limiter.log(.warning, "event", [:])
        #expect(lines.all == [line(1), line(2), line(1)])
    }

    @Test("Calls that may wait for the user do not wait among the lookups")
    func prompts() {
        let choice = AliasChoiceRequest(app: "a")
        let query = AliasQueryRequest(app: "a", columns: [])
        for call in [ProviderCall.logIn(.presence), .chooseAlias(choice), .aliases(query, limit: 1)] {
            #expect(call.mayWaitForUser)
        }
        for call in [ProviderCall.tokenStatus, .item(identifier: "a"), .content(identifier: "a")] {
            #expect(!call.mayWaitForUser)
        }
    }
}
