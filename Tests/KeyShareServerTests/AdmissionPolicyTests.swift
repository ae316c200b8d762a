import TestSupport
import KeyShareServer
import NIOCore
import Testing

@Suite("The admission policy", .timeLimit(.minutes(10)))
struct AdmissionPolicyTests {
    private let never: (Int) -> NIODeadline? = { _ in nil }

    @Test("Connections are admitted up to the limit, and again after one has ended")
    func room() {
        var policy = AdmissionPolicy(limit: 2, limitPerPeer: 2)
        for id in 1...2 {
            #expect(policy.admit(id, process: 1, idleSince: never) == .admit)
            policy.markReady(id)
        }
        #expect(policy.admit(3, process: 2, idleSince: never) == .refuse)
        policy.remove(1)
        policy.remove(1)
        #expect(policy.admit(4, process: 2, idleSince: never) == .admit)
        #expect(policy.count == 2)
    }

    @Test("The oldest connection without a hello is evicted first")
    func halfOpen() {
        var policy = AdmissionPolicy(limit: 3, limitPerPeer: 9)
        for id in 1...3 {
            _ = policy.admit(id, process: 1, idleSince: never)
        }
        policy.markReady(1)
        #expect(policy.admit(4, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 2))
        #expect(policy.admit(5, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 3))
        #expect(policy.admit(6, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 4))
        #expect(policy.count == 3)
    }

    @Test(
        "If no connection is half-open, the busiest process loses its longest-idle connection")
    func hoarder() {
        var policy = AdmissionPolicy(limit: 4, limitPerPeer: 9)
        for (id, process) in [(1, 10), (2, 20), (3, 20), (4, 20)] {
            _ = policy.admit(id, process: Int32(process), idleSince: never)
            policy.markReady(id)
        }
        let idle: [Int: UInt64] = [1: 1, 2: 50, 3: 40]
        let verdict = policy.admit(5, process: 30) { id in
            idle[id].map { .uptimeNanoseconds($0) }
        }
        #expect(verdict == .admitInstead(of: 3))
    }

    @Test("A process at its own limit loses only its own connections without a hello")
    func perPeer() {
        var policy = AdmissionPolicy(limit: 10, limitPerPeer: 2)
        _ = policy.admit(1, process: 1, idleSince: never)
        for id in 2...3 {
            _ = policy.admit(id, process: 2, idleSince: never)
        }
        #expect(policy.admit(4, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 2))
        policy.markReady(3)
        policy.markReady(4)
        #expect(policy.admit(5, process: 2, idleSince: { _ in .now() }) == .refuse)
        #expect(policy.admit(6, process: 3, idleSince: never) == .admit)
    }

    @Test("A connection that has ended no longer counts toward the limit of its process")
    func endedOfPeer() {
        var policy = AdmissionPolicy(limit: 10, limitPerPeer: 2)
        for id in 1...9 {
            #expect(policy.admit(id, process: 1, idleSince: never) == .admit)
            policy.markReady(id)
            policy.remove(id)
        }
        #expect(policy.count == 0)
    }

    @Test("A connection that is evicted to free a descriptor no longer counts toward the limits")
    func sacrifice() {
        var policy = AdmissionPolicy(limit: 10, limitPerPeer: 10)
        #expect(policy.evict(idleSince: never) == nil)
        _ = policy.admit(1, process: 1, idleSince: never)
        #expect(policy.evict(idleSince: never) == 1)
        #expect(policy.count == 0)
    }

    @Test("In a flood of 10,000 silent clients, connections are evicted in the order of arrival")
    func flood() {
        var policy = AdmissionPolicy(limit: 100, limitPerPeer: 1_000)
        for id in 1...10_000 {
            let verdict = policy.admit(id, process: 1, idleSince: never)
            #expect(verdict == (id <= 100 ? .admit : .admitInstead(of: id - 100)))
        }
        #expect(policy.count == 100)
    }
}
