internal import KeySharing
package import NIOCore

/// Who may connect and who must go for it, as counts and orders: the pure half of accepting.
///
/// A connection is *half open* until its hello. Those go first, oldest first, so that a flood of silent
/// peers cannot keep an honest one out.
package struct Admission: Sendable {
    /// What to do with a newcomer.
    package enum Verdict: Sendable, Equatable {
        /// Let it in; it is counted from now on.
        case admit
        /// Let it in, and close the other one.
        case admitInstead(of: Int)
        /// Close it: every connection there is has a better claim.
        case refuse
    }

    private struct Entry {
        var process: Int32
        var isHalfOpen: Bool
    }

    private let limit: Int
    private let limitPerPeer: Int
    private var entries: [Int: Entry] = [:]
    private var perProcess: [Int32: Int] = [:]
    /// Ids in the order of their arrival, those that have said hello or left included until they are met.
    private var arrivals: [Int] = []
    private var firstArrival = 0

    /// - Parameters:
    ///   - limit: Connections in all.
    ///   - limitPerPeer: Connections of one process.
    package init(limit: Int, limitPerPeer: Int) {
        self.limit = max(limit, 1)
        self.limitPerPeer = max(limitPerPeer, 1)
    }

    /// How many connections are counted.
    package var count: Int { entries.count }

    /// Judges the newcomer `id`, and counts it unless it is refused.
    ///
    /// - Parameters:
    ///   - id: Never used before.
    ///   - process: The peer's process.
    ///   - idleSince: Since when a connection has had nothing to do; nil while it is being served.
    /// - Returns: What to do with it, and with another one for its sake.
    package mutating func arrive(
        _ id: Int, process: Int32, idleSince: (Int) -> NIODeadline?
    ) -> Verdict {
        var verdict = Verdict.admit
        if perProcess[process, default: 0] >= limitPerPeer {
            guard let victim = oldestHalfOpen(of: process) else { return .refuse }
            verdict = .admitInstead(of: victim)
        } else if entries.count >= limit {
            guard let victim = victim(idleSince: idleSince) else { return .refuse }
            verdict = .admitInstead(of: victim)
        }
        if case .admitInstead(let victim) = verdict {
            leave(victim)
        }
        entries[id] = Entry(process: process, isHalfOpen: true)
        perProcess[process, default: 0] += 1
        arrivals.append(id)
        return verdict
    }

    /// The connection that goes when the system has no descriptor left; it stops being counted.
    package mutating func sacrifice(idleSince: (Int) -> NIODeadline?) -> Int? {
        guard let victim = victim(idleSince: idleSince) else { return nil }
        leave(victim)
        return victim
    }

    /// The connection is half open no longer.
    package mutating func saidHello(_ id: Int) {
        entries[id]?.isHalfOpen = false
    }

    /// The connection is gone, or about to go; saying so twice does no harm.
    package mutating func leave(_ id: Int) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let rest = perProcess[entry.process, default: 0] - 1
        perProcess[entry.process] = rest > 0 ? rest : nil
        forgetStaleArrivals()
    }

    /// The oldest half-open one; else, of the process that holds most, the one with the longest rest.
    private func victim(idleSince: (Int) -> NIODeadline?) -> Int? {
        if let oldest = arrivals[firstArrival...].first(where: { entries[$0]?.isHalfOpen == true }) {
            return oldest
        }
        let resting = entries.compactMap { id, entry -> (id: Int, share: Int, since: NIODeadline)? in
            guard let since = idleSince(id) else { return nil }
            return (id, perProcess[entry.process, default: 0], since)
        }
        return resting.max { ($0.share, $1.since, $1.id) < ($1.share, $0.since, $0.id) }?.id
    }

    private func oldestHalfOpen(of process: Int32) -> Int? {
        arrivals[firstArrival...].first { id in
            guard let entry = entries[id] else { return false }
            return entry.isHalfOpen && entry.process == process
        }
    }

    /// Keeps `arrivals` to about the number of half-open ones, at a cost that is constant on average.
    private mutating func forgetStaleArrivals() {
        while firstArrival < arrivals.count, entries[arrivals[firstArrival]]?.isHalfOpen != true {
            firstArrival += 1
        }
        if firstArrival > arrivals.count / 2 {
            arrivals.removeFirst(firstArrival)
            firstArrival = 0
        }
    }
}
