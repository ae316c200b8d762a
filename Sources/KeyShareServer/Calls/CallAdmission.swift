/// The rule that decides which calls are accepted, and in which order the calls of each process run. It only counts,
/// and does no I/O.
///
/// A call is rejected immediately if there is no room for it. If the overall limit is reached, the process with the
/// most calls loses its newest waiting call, so that one process cannot block others. `Protocol.md` of `KeyShareWire`
/// describes the rule under "Limits and deadlines".
package struct CallAdmission: Sendable {
    /// The limits for accepted calls. Cancelled calls do not count.
    package struct Limits: Sendable {
        /// The maximum number of calls from one process that run concurrently. Further calls wait.
        package var underWayPerProcess: Int
        /// The maximum number of calls from one process, running and waiting.
        package var perProcess: Int
        /// The maximum number of calls from all processes, running and waiting.
        package var total: Int
        /// The maximum expected memory of all calls, in bytes. A single call that needs more is accepted only while no
        /// other call exists.
        package var bytes: Int
        /// A call that needs at most this many bytes is never rejected because of memory.
        package var smallBytes: Int

        /// Creates limits; `underWayPerProcess` is at least 1.
        package init(
            underWayPerProcess: Int, perProcess: Int, total: Int, bytes: Int = .max, smallBytes: Int = 0
        ) {
            self.underWayPerProcess = max(underWayPerProcess, 1)
            self.perProcess = max(perProcess, 1)
            self.total = max(total, 1)
            self.bytes = bytes
            self.smallBytes = smallBytes
        }
    }

    /// The decision about a new call.
    package enum Verdict: Sendable, Equatable {
        /// The call may begin now.
        case begin
        /// The call must wait. `end` returns its id when its turn comes.
        case wait
        /// The call must be rejected, because there is no room for it.
        case refuse
    }

    private struct Entry {
        var process: Int32
        var bytes: Int
        var hasBegun = false
        /// Whether the call was cancelled after it had begun. It then does not count toward the limits, but still
        /// occupies a thread.
        var isCancelled = false
    }

    private struct Line {
        /// The ids of waiting calls in the order of arrival, from index `first`. Some calls may have been withdrawn.
        var waiting: [Int] = []
        var first = 0
        /// The number of withdrawn ids in `waiting`.
        var withdrawn = 0
        /// The number of entries that have begun and not ended, cancelled ones included.
        var underWay = 0
        /// The number of entries that count toward the limits.
        var count = 0
    }

    private let limits: Limits
    private var entries: [Int: Entry] = [:]
    private var lines: [Int32: Line] = [:]

    /// The number of calls that count toward the limits.
    package private(set) var count = 0
    /// The expected memory of these calls, in bytes.
    package private(set) var bytes = 0
    /// The number of calls that have begun and not ended.
    package private(set) var underWay = 0

    /// Creates a policy with these limits and no calls.
    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// Accepts, queues or rejects a new call.
    ///
    /// - Parameters:
    ///   - id: The new call's id. Ids are never reused.
    ///   - process: The id of the calling process.
    ///   - size: The expected memory of the call, in bytes.
    /// - Returns: The decision, and the ids of displaced calls of other processes. Displaced calls no longer count and
    ///   must be rejected.
    package mutating func admit(
        _ id: Int, process: Int32, bytes size: Int
    ) -> (verdict: Verdict, displaced: [Int]) {
        guard (lines[process]?.count ?? 0) < limits.perProcess,
            size <= limits.smallBytes || count == 0 || bytes <= limits.bytes - size
        else { return (.refuse, []) }
        var displaced: [Int] = []
        if count >= limits.total {
            guard let victim = newestWaiting(except: process) else { return (.refuse, []) }
            withdraw(victim)
            displaced.append(victim)
        }
        let begins = (lines[process]?.underWay ?? 0) < limits.underWayPerProcess
        entries[id] = Entry(process: process, bytes: size, hasBegun: begins)
        lines[process, default: Line()].count += 1
        if begins {
            lines[process]?.underWay += 1
            underWay += 1
        } else {
            lines[process]?.waiting.append(id)
        }
        count += 1
        bytes += size
        return (begins ? .begin : .wait, displaced)
    }

    /// Stops counting a call that no connection waits for. A call that has begun still occupies its place among the
    /// running ones until `end`. A second call has no effect.
    package mutating func withdraw(_ id: Int) {
        guard let entry = entries[id], !entry.isCancelled else { return }
        release(entry)
        if entry.hasBegun {
            entries[id]?.isCancelled = true
        } else {
            entries[id] = nil
            lines[entry.process]?.withdrawn += 1
            dropWithdrawn(entry.process)
            forgetLine(entry.process)
        }
    }

    /// Records that a running call has ended.
    ///
    /// - Returns: The id of the call that begins in its place; nil if no call is waiting.
    package mutating func end(_ id: Int) -> Int? {
        guard let entry = entries.removeValue(forKey: id), entry.hasBegun else { return nil }
        if !entry.isCancelled { release(entry) }
        underWay -= 1
        lines[entry.process]?.underWay -= 1
        let next = firstWaiting(of: entry.process)
        if let next {
            entries[next]?.hasBegun = true
            lines[entry.process]?.underWay += 1
            underWay += 1
        }
        forgetLine(entry.process)
        return next
    }

    private mutating func release(_ entry: Entry) {
        count -= 1
        bytes -= entry.bytes
        lines[entry.process]?.count -= 1
    }

    /// Removes withdrawn ids from the front of a process's queue, then removes and returns the first waiting id.
    private mutating func firstWaiting(of process: Int32) -> Int? {
        guard var line = lines[process] else { return nil }
        defer { lines[process] = line }
        while line.first < line.waiting.count {
            let id = line.waiting[line.first]
            line.first += 1
            if line.first > line.waiting.count / 2 {
                line.waiting.removeFirst(line.first)
                line.first = 0
            }
            if entries[id]?.hasBegun == false { return id }
            line.withdrawn -= 1
        }
        return nil
    }

    /// Removes the ids of withdrawn calls from a process's queue when they are more than half of it. The amortized cost
    /// is constant.
    private mutating func dropWithdrawn(_ process: Int32) {
        guard var line = lines[process], line.withdrawn > (line.waiting.count - line.first) / 2 else {
            return
        }
        line.waiting = line.waiting[line.first...].filter { entries[$0] != nil }
        line.first = 0
        line.withdrawn = 0
        lines[process] = line
    }

    /// The newest waiting call of the process with the most calls; nil if no process has more calls than `process`
    /// would have.
    private func newestWaiting(except process: Int32) -> Int? {
        let own = (lines[process]?.count ?? 0) + 1
        let greedy = lines.filter { $0.value.count > own }.sorted { $0.value.count > $1.value.count }
        for (_, line) in greedy {
            if let newest = line.waiting[line.first...].last(where: { entries[$0]?.hasBegun == false }) {
                return newest
            }
        }
        return nil
    }

    /// Removes the queue of a process that has no calls left.
    private mutating func forgetLine(_ process: Int32) {
        if let line = lines[process], line.count == 0, line.underWay == 0 {
            lines[process] = nil
        }
    }
}
