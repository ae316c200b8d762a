import TestSupport
import KeyShareServer
import NIOCore
import Testing

@Suite("Admission")
struct AdmissionTests {
    private let never: (Int) -> NIODeadline? = { _ in nil }

    @Test("There is room up to the limit, and again once somebody leaves")
    func room() {
        var admission = Admission(limit: 2, limitPerPeer: 2)
        for id in 1...2 {
            #expect(admission.arrive(id, process: 1, idleSince: never) == .admit)
            admission.saidHello(id)
        }
        #expect(admission.arrive(3, process: 2, idleSince: never) == .refuse)
        admission.leave(1)
        admission.leave(1)
        #expect(admission.arrive(4, process: 2, idleSince: never) == .admit)
        #expect(admission.count == 2)
    }

    @Test("The oldest that has not said hello goes first")
    func halfOpen() {
        var admission = Admission(limit: 3, limitPerPeer: 9)
        for id in 1...3 {
            _ = admission.arrive(id, process: 1, idleSince: never)
        }
        admission.saidHello(1)
        #expect(admission.arrive(4, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 2))
        #expect(admission.arrive(5, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 3))
        #expect(admission.arrive(6, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 4))
        #expect(admission.count == 3)
    }

    @Test("With nobody half open, the longest idle of the process that holds most goes")
    func hoarder() {
        var admission = Admission(limit: 4, limitPerPeer: 9)
        for (id, process) in [(1, 10), (2, 20), (3, 20), (4, 20)] {
            _ = admission.arrive(id, process: Int32(process), idleSince: never)
            admission.saidHello(id)
        }
        let idle: [Int: UInt64] = [1: 1, 2: 50, 3: 40]
        let verdict = admission.arrive(5, process: 30) { id in
            idle[id].map { .uptimeNanoseconds($0) }
        }
        #expect(verdict == .admitInstead(of: 3))
    }

    @Test("A process at its own limit loses its own half-open connections only")
    func perPeer() {
        var admission = Admission(limit: 10, limitPerPeer: 2)
        _ = admission.arrive(1, process: 1, idleSince: never)
        for id in 2...3 {
            _ = admission.arrive(id, process: 2, idleSince: never)
        }
        #expect(admission.arrive(4, process: 2, idleSince: { _ in .now() }) == .admitInstead(of: 2))
        admission.saidHello(3)
        admission.saidHello(4)
        #expect(admission.arrive(5, process: 2, idleSince: { _ in .now() }) == .refuse)
        #expect(admission.arrive(6, process: 3, idleSince: never) == .admit)
    }

    @Test("When the system has no descriptor left, one that may go is named, and is counted no longer")
    func sacrifice() {
        var admission = Admission(limit: 10, limitPerPeer: 10)
        #expect(admission.sacrifice(idleSince: never) == nil)
        _ = admission.arrive(1, process: 1, idleSince: never)
        #expect(admission.sacrifice(idleSince: never) == 1)
        #expect(admission.count == 0)
    }

    @Test("A long flood of silent peers keeps to the limit and to the order of arrival")
    func flood() {
        var admission = Admission(limit: 100, limitPerPeer: 1_000)
        for id in 1...10_000 {
            let verdict = admission.arrive(id, process: 1, idleSince: never)
            #expect(verdict == (id <= 100 ? .admit : .admitInstead(of: id - 100)))
        }
        #expect(admission.count == 100)
    }
}
