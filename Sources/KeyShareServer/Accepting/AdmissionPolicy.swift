package import NIOCore

/// The rule that decides which connections a server keeps when it has too many. It only counts and orders, and does no
/// I/O.
///
/// A connection is *half open* until its hello. Half-open connections are evicted first, in the order of arrival, so
/// that a flood of silent clients cannot lock out a well-behaved one. `Protocol.md` of `KeyShareWire` describes the rule
/// under "Limits and deadlines".
package struct AdmissionPolicy: Sendable {
    /// The decision about a new connection.
    package enum Verdict: Sendable, Equatable {
        /// Keep the new connection. It is counted from now on.
        case admit
        /// Keep the new connection and close the other one.
        case admitInstead(of: Int)
        /// Close the new connection, because no other connection may be evicted for it.
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
    /// The ids of connections in the order of arrival. An id is removed some time after its connection became ready or
    /// ended.
    private var arrivals: [Int] = []
    private var firstArrival = 0

    /// Creates a policy without connections.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of connections.
    ///   - limitPerPeer: The maximum number of connections of one process.
    package init(limit: Int, limitPerPeer: Int) {
        self.limit = max(limit, 1)
        self.limitPerPeer = max(limitPerPeer, 1)
    }

    /// The number of connections.
    package var count: Int { entries.count }

    /// Decides whether to admit a new connection, and counts it unless it is rejected.
    ///
    /// - Parameters:
    ///   - id: The new connection's id. Ids are never reused.
    ///   - process: The process id of the client.
    ///   - idleSince: Returns the time when a connection became idle; nil while it is being served.
    package mutating func admit(
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
            remove(victim)
        }
        entries[id] = Entry(process: process, isHalfOpen: true)
        perProcess[process, default: 0] += 1
        arrivals.append(id)
        return verdict
    }

    /// Chooses a connection to close when the system has no descriptor left, and stops counting it.
    ///
    /// - Returns: The id of the connection; nil if no connection may be evicted.
    package mutating func evict(idleSince: (Int) -> NIODeadline?) -> Int? {
        guard let victim = victim(idleSince: idleSince) else { return nil }
        remove(victim)
        return victim
    }

    /// Records that a connection has completed its hello, and is no longer half open.
    package mutating func markReady(_ id: Int) {
        entries[id]?.isHalfOpen = false
    }

    /// Stops counting a connection. A second call for the same connection has no effect.
    package mutating func remove(_ id: Int) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let rest = perProcess[entry.process, default: 0] - 1
        perProcess[entry.process] = rest > 0 ? rest : nil
        forgetStaleArrivals()
    }

    /// Returns the oldest half-open connection. If there is none, returns the longest-idle connection of the process
    /// with the most connections.
    private func victim(idleSince: (Int) -> NIODeadline?) -> Int? {
        if let oldest = arrivals[firstArrival...].first(where: { entries[$0]?.isHalfOpen == true }) {
            return oldest
        }
        let idle = entries.compactMap { id, entry -> (id: Int, share: Int, since: NIODeadline)? in
            guard let since = idleSince(id) else { return nil }
            return (id, perProcess[entry.process, default: 0], since)
        }
        return idle.max { ($0.share, $1.since, $1.id) < ($1.share, $0.since, $0.id) }?.id
    }

    private func oldestHalfOpen(of process: Int32) -> Int? {
        arrivals[firstArrival...].first { id in
            guard let entry = entries[id] else { return false }
            return entry.isHalfOpen && entry.process == process
        }
    }

    /// Removes ids that are no longer half open from the front of `arrivals`, in amortized constant time.
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
