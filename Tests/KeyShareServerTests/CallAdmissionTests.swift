import KeyShareServer
import TestSupport
import Testing

@Suite("Admission of provider calls", .timeLimit(.minutes(10)))
struct CallAdmissionTests {
    private func admission(
        underWay: Int = 1, perProcess: Int = 4, total: Int = 6, bytes: Int = 100, smallBytes: Int = 0
    ) -> CallAdmission {
        CallAdmission(
            CallAdmission.Limits(
                underWayPerProcess: underWay, perProcess: perProcess, total: total, bytes: bytes,
                smallBytes: smallBytes))
    }

    @Test("The calls of one process begin one after the other, in the order of arrival")
    func order() {
        var admission = admission(underWay: 2)
        #expect(
            (1...4).map { admission.admit($0, process: 7, bytes: 0).verdict } == [
                .begin, .begin, .wait, .wait,
            ])
        #expect(admission.end(2) == 3)
        #expect(admission.end(1) == 4)
        #expect(admission.end(3) == nil)
        #expect(admission.end(4) == nil)
        #expect((admission.count, admission.underWay) == (0, 0))
    }

    @Test("A process at its limit is rejected while other processes are admitted")
    func perProcess() {
        var admission = admission()
        for id in 1...4 { _ = admission.admit(id, process: 7, bytes: 0) }
        #expect(admission.admit(5, process: 7, bytes: 0).verdict == .refuse)
        #expect(admission.admit(6, process: 8, bytes: 0).verdict == .begin)
    }

    @Test("At the overall limit, the process with the most calls loses its newest waiting call")
    func displaced() {
        var admission = admission()
        for id in 1...4 { _ = admission.admit(id, process: 7, bytes: 0) }
        for id in 5...6 { _ = admission.admit(id, process: 8, bytes: 0) }
        let newcomer = admission.admit(9, process: 9, bytes: 0)
        #expect(newcomer.verdict == .begin)
        #expect(newcomer.displaced == [4])
        // With its next call, process 8 would have as many calls as process 7.
        #expect(admission.admit(10, process: 8, bytes: 0).verdict == .refuse)
        #expect(admission.count == 6)
    }

    @Test("A cancelled call is not displaced again")
    func displacedAfterCancellation() {
        var admission = admission(perProcess: 9)
        for id in 1...5 { _ = admission.admit(id, process: 7, bytes: 0) }
        admission.withdraw(5)
        for id in 11...12 { _ = admission.admit(id, process: 8, bytes: 0) }
        let newcomer = admission.admit(21, process: 9, bytes: 0)
        #expect(newcomer.verdict == .begin && newcomer.displaced == [4])
        #expect(admission.count == 6)
    }

    @Test("Cancelled calls do not count toward the limits, whether or not they have begun")
    func cancelled() {
        var admission = admission()
        for round in 0..<1_000 {
            let ids = (1...4).map { round * 4 + $0 }
            for id in ids { #expect(admission.admit(id, process: 7, bytes: 25).verdict != .refuse, "\(id)") }
            #expect(admission.admit(-1, process: 7, bytes: 0).verdict == .refuse)
            for id in ids { admission.withdraw(id) }
            for id in ids { admission.withdraw(id) }
            #expect((admission.count, admission.bytes) == (0, 0))
        }
        // The first call still runs its last step.
        #expect(admission.underWay == 1)
        #expect(admission.admit(5_000, process: 7, bytes: 0).verdict == .wait)
        #expect(admission.end(1) == 5_000)
        #expect(admission.count == 1 && admission.underWay == 1)
    }

    @Test("A call over the memory limit is rejected, unless it is small or the only one")
    func bytes() {
        var admission = admission(smallBytes: 5)
        #expect(admission.admit(1, process: 7, bytes: 1_000).verdict == .begin)
        #expect(admission.admit(2, process: 8, bytes: 6).verdict == .refuse)
        #expect(admission.admit(3, process: 8, bytes: 5).verdict == .begin)
        #expect(admission.end(1) == nil)
        #expect(admission.admit(4, process: 7, bytes: 95).verdict == .begin)
        #expect(admission.admit(5, process: 9, bytes: 6).verdict == .refuse)
        #expect(admission.bytes == 100)
    }
}

@Suite("The budget of content in memory", .timeLimit(.minutes(10)))
struct ContentBudgetTests {
    private func held(_ count: Int) -> (bytes: [UInt8], content: ContentBudget.Content) {
        let bytes = [UInt8](repeating: 1, count: count)
        return (bytes, ContentBudget.Content(bytes))
    }

    @Test("Content that several connections hold is counted once")
    func shared() {
        let (bytes, shared) = held(60)
        withExtendedLifetime(bytes) {
            var budget = ContentBudget(limit: 100)
            for connection in 1...500 { budget.set(connection, process: Int32(connection % 3), [shared]) }
            #expect(budget.bytes == 60)
            #expect(budget.makeRoom(for: shared, of: 9) == [])
            for connection in 1...500 { budget.set(connection, process: Int32(connection % 3), []) }
            #expect(budget.bytes == 0)
        }
    }

    @Test("If the budget is exhausted, the process that holds the most loses its largest content")
    func evicted() {
        let all = [50, 30, 20].map { held($0) }
        withExtendedLifetime(all) {
            var budget = ContentBudget(limit: 100)
            budget.set(1, process: 7, [all[0].content])
            budget.set(2, process: 7, [all[0].content, all[1].content])
            budget.set(3, process: 8, [all[2].content])
            let (bytes, new) = held(10)
            #expect(
                budget.makeRoom(for: new, of: 9) == [
                    ContentBudget.Eviction(content: all[0].content, connections: [1, 2])
                ])
            // The process that holds the most content does not displace the content of other processes.
            #expect(budget.makeRoom(for: new, of: 7) == nil)
            withExtendedLifetime(bytes) {}
        }
    }

    @Test("No process loses so much content that it holds less than the process that displaces it")
    func fairEviction() {
        let all = [30, 31, 39].map { held($0) }
        withExtendedLifetime(all) {
            var budget = ContentBudget(limit: 100)
            budget.set(1, process: 7, [all[0].content, all[1].content])
            budget.set(2, process: 8, [all[2].content])
            let (bytes, new) = held(50)
            // Evicting 31 bytes is not enough, and process 7 would then hold 30.
            #expect(budget.makeRoom(for: new, of: 9) == nil)
            let (small, little) = held(31)
            #expect(
                budget.makeRoom(for: little, of: 9) == [
                    ContentBudget.Eviction(content: all[1].content, connections: [1])
                ])
            withExtendedLifetime((bytes, small)) {}
        }
    }

    @Test("Content shared by two processes can be evicted from both")
    func collusion() {
        let (bytes, both) = held(100)
        withExtendedLifetime(bytes) {
            var budget = ContentBudget(limit: 100)
            budget.set(1, process: 7, [both])
            budget.set(2, process: 8, [both])
            let (small, new) = held(10)
            let evictions = budget.makeRoom(for: new, of: 9)
            #expect(evictions?.flatMap(\.connections).sorted() == [1, 2])
            #expect(budget.makeRoom(for: held(101).content, of: 9) == nil)
            withExtendedLifetime(small) {}
        }
    }
}
