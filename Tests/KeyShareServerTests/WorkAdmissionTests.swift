import KeyShareServer
import TestSupport
import Testing

@Suite("The admission of work")
struct WorkAdmissionTests {
    private func admission(
        underWay: Int = 1, perProcess: Int = 4, total: Int = 6, bytes: Int = 100, smallBytes: Int = 0
    ) -> WorkAdmission {
        WorkAdmission(
            WorkAdmission.Limits(
                underWayPerProcess: underWay, perProcess: perProcess, total: total, bytes: bytes,
                smallBytes: smallBytes))
    }

    @Test("Work of one process begins one after the other, in the order of arrival")
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

    @Test("A process at its limit is refused, and another one is not")
    func perProcess() {
        var admission = admission()
        for id in 1...4 { _ = admission.admit(id, process: 7, bytes: 0) }
        #expect(admission.admit(5, process: 7, bytes: 0).verdict == .refuse)
        #expect(admission.admit(6, process: 8, bytes: 0).verdict == .begin)
    }

    @Test("Where there is no room in all, the process with most work gives up its newest that waits")
    func displaced() {
        var admission = admission()
        for id in 1...4 { _ = admission.admit(id, process: 7, bytes: 0) }
        for id in 5...6 { _ = admission.admit(id, process: 8, bytes: 0) }
        let newcomer = admission.admit(9, process: 9, bytes: 0)
        #expect(newcomer.verdict == .begin)
        #expect(newcomer.displaced == [4])
        // Process 8 would have as much work as process 7 with its next one.
        #expect(admission.admit(10, process: 8, bytes: 0).verdict == .refuse)
        #expect(admission.count == 6)
    }

    @Test("Work that was cancelled counts to no limit, whether it has begun or not")
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
        // The first piece of work still runs its last step.
        #expect(admission.underWay == 1)
        #expect(admission.admit(5_000, process: 7, bytes: 0).verdict == .wait)
        #expect(admission.end(1) == 5_000)
    }

    @Test("Work over the bytes in all is refused; what is small, or alone, is taken on")
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

@Suite("The record of content in memory")
struct ContentLedgerTests {
    private func piece(_ count: Int) -> (bytes: [UInt8], piece: ContentLedger.Piece) {
        let bytes = [UInt8](repeating: 1, count: count)
        return (bytes, ContentLedger.Piece(bytes))
    }

    @Test("Content that many connections hold is counted once")
    func shared() {
        let (bytes, shared) = piece(60)
        withExtendedLifetime(bytes) {
            var ledger = ContentLedger(limit: 100)
            for connection in 1...500 { ledger.set(connection, process: Int32(connection % 3), [shared]) }
            #expect(ledger.bytes == 60)
            #expect(ledger.makeRoom(for: shared, of: 9) == [])
            for connection in 1...500 { ledger.set(connection, process: Int32(connection % 3), []) }
            #expect(ledger.bytes == 0)
        }
    }

    @Test("Where there is no room, the process that holds most gives up its largest content")
    func takenBack() {
        let all = [50, 30, 20].map { piece($0) }
        withExtendedLifetime(all) {
            var ledger = ContentLedger(limit: 100)
            ledger.set(1, process: 7, [all[0].piece])
            ledger.set(2, process: 7, [all[0].piece, all[1].piece])
            ledger.set(3, process: 8, [all[2].piece])
            let (bytes, new) = piece(10)
            #expect(
                ledger.makeRoom(for: new, of: 9) == [
                    ContentLedger.Reclaim(piece: all[0].piece, connections: [1, 2])
                ])
            // The process that holds most gets nothing from others.
            #expect(ledger.makeRoom(for: new, of: 7) == nil)
            withExtendedLifetime(bytes) {}
        }
    }

    @Test("Content that two processes hold together protects neither of them")
    func collusion() {
        let (bytes, both) = piece(100)
        withExtendedLifetime(bytes) {
            var ledger = ContentLedger(limit: 100)
            ledger.set(1, process: 7, [both])
            ledger.set(2, process: 8, [both])
            let (small, new) = piece(10)
            let reclaims = ledger.makeRoom(for: new, of: 9)
            #expect(reclaims?.flatMap(\.connections).sorted() == [1, 2])
            #expect(ledger.makeRoom(for: piece(101).piece, of: 9) == nil)
            withExtendedLifetime(small) {}
        }
    }
}
