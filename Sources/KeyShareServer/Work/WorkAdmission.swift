/// The rule that decides which work is taken on, and in which order each process gets its own: counts, no I/O.
///
/// Work that is refused is refused at once. Where there is no room in all, the process that has most gives up its
/// newest work that has not begun, so that a process that asks for much cannot keep others out. `Protocol.md` of
/// `KeyShareWire` describes the rule under "Limits and deadlines".
package struct WorkAdmission: Sendable {
    /// How much work is taken on. Work that was cancelled counts no longer.
    package struct Limits: Sendable {
        /// The pieces of work of one process that are under way at a time; the others wait.
        package var underWayPerProcess: Int
        /// The pieces of work of one process, under way and waiting.
        package var perProcess: Int
        /// The pieces of work of all processes, under way and waiting.
        package var total: Int
        /// The bytes that all this work is expected to hold. Work that alone needs more is taken on while there is
        /// no other.
        package var bytes: Int
        /// Work that needs no more bytes than this is never refused for want of bytes.
        package var smallBytes: Int

        /// Makes limits of these counts and sizes.
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

    /// The decision about new work.
    package enum Verdict: Sendable, Equatable {
        /// Begin it now.
        case begin
        /// It waits; `end` tells when its turn has come.
        case wait
        /// There is no room for it.
        case refuse
    }

    private struct Entry {
        var process: Int32
        var bytes: Int
        var hasBegun = false
        /// Whether it was cancelled after it had begun: it counts to no limit, and still occupies a thread.
        var isCancelled = false
    }

    private struct Line {
        /// The ids of the work that waits, in the order of arrival, from `first` on. Some may be of work that was
        /// withdrawn.
        var waiting: [Int] = []
        var first = 0
        /// The number of ids in `waiting` whose work was withdrawn.
        var withdrawn = 0
        /// The number of entries that have begun and not ended, cancelled ones included.
        var underWay = 0
        /// The number of entries that count to the limits.
        var count = 0
    }

    private let limits: Limits
    private var entries: [Int: Entry] = [:]
    private var lines: [Int32: Line] = [:]

    /// The number of pieces of work that count to the limits.
    package private(set) var count = 0
    /// The bytes that this work is expected to hold.
    package private(set) var bytes = 0
    /// The number of pieces of work that have begun and not ended.
    package private(set) var underWay = 0

    /// Makes an admission without work.
    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// Decides about new work.
    ///
    /// - Parameters:
    ///   - id: The new work's id, which was never used before.
    ///   - process: The id of the process that asks for it.
    ///   - size: The bytes that it is expected to hold.
    /// - Returns: The decision, and the ids of work of other processes that gives way: it counts no longer and must
    ///   be refused.
    package mutating func admit(
        _ id: Int, process: Int32, bytes size: Int
    ) -> (verdict: Verdict, displaced: [Int]) {
        guard (lines[process]?.count ?? 0) < limits.perProcess,
            size <= limits.smallBytes || count == 0 || bytes <= limits.bytes - size
        else { return (.refuse, []) }
        var displaced: [Int] = []
        if count >= limits.total {
            guard let victim = newestWaiting(besides: process) else { return (.refuse, []) }
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

    /// Counts work no longer that nobody wants any more. Work that has begun still occupies its place under way until
    /// `end`. A second call has no effect.
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

    /// Notes that work that had begun has ended.
    ///
    /// - Returns: The id of the work that begins in its place; nil where none waits.
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

    /// Removes the first id from the line of a process that still waits, and those before it.
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

    /// Removes the ids of withdrawn work from a line once they are most of it, so that the cost of each call is
    /// constant on average.
    private mutating func dropWithdrawn(_ process: Int32) {
        guard var line = lines[process], line.withdrawn > (line.waiting.count - line.first) / 2 else {
            return
        }
        line.waiting = line.waiting[line.first...].filter { entries[$0] != nil }
        line.first = 0
        line.withdrawn = 0
        lines[process] = line
    }

    /// The newest work that waits among that of the process with most work; nil where no process has more work than
    /// `process` would have.
    private func newestWaiting(besides process: Int32) -> Int? {
        let own = (lines[process]?.count ?? 0) + 1
        let greedy = lines.filter { $0.value.count > own }.sorted { $0.value.count > $1.value.count }
        for (_, line) in greedy {
            if let newest = line.waiting[line.first...].last(where: { entries[$0]?.hasBegun == false }) {
                return newest
            }
        }
        return nil
    }

    /// Drops the line of a process that has nothing left.
    private mutating func forgetLine(_ process: Int32) {
        if let line = lines[process], line.count == 0, line.underWay == 0 {
            lines[process] = nil
        }
    }
}
