/// Records which connections hold which content in memory. It only counts sizes and owners, and does no I/O.
///
/// Content that several connections hold is in memory once and is counted once. If there is no room for more, content
/// is evicted from the process that holds the most (`Protocol.md` of `KeyShareWire`, "Limits and deadlines").
package struct ContentBudget: Sendable {
    /// Content in memory. Two arrays that share their storage compare as equal.
    package struct Content: Sendable, Hashable {
        private let address: UInt
        /// The number of bytes.
        package let size: Int

        /// Identifies the storage of `bytes`. The identity is valid for as long as the array is kept.
        package init(_ bytes: [UInt8]) {
            address = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            size = bytes.count
        }
    }

    /// Content that one process must release.
    package struct Eviction: Sendable, Hashable {
        /// The content to release.
        package var content: Content
        /// The connections of the process that hold it.
        package var connections: Set<Int>

        /// Creates an eviction of `content` from `connections`.
        package init(content: Content, connections: Set<Int>) {
            self.content = content
            self.connections = connections
        }
    }

    private struct Connection {
        var process: Int32
        var contents: [Content]
    }

    private let limit: Int
    private var connections: [Int: Connection] = [:]
    /// For each content, the processes that hold it and their connections.
    private var holders: [Content: [Int32: Set<Int>]] = [:]

    /// The size of all held content, in bytes.
    package private(set) var bytes = 0

    /// Creates an empty budget.
    ///
    /// - Parameter limit: The maximum size of all held content, in bytes.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Records the content that a connection holds, replacing its earlier content.
    ///
    /// - Parameters:
    ///   - connection: The connection's id.
    ///   - process: The connection's process.
    ///   - contents: All content that it holds; may be empty.
    package mutating func set(_ connection: Int, process: Int32, _ contents: [Content]) {
        let former = connections.removeValue(forKey: connection)?.contents ?? []
        let now = Set(contents)
        for content in Set(former).subtracting(now) { remove(content, connection, process) }
        for content in now.subtracting(former) {
            if holders[content] == nil { bytes += content.size }
            holders[content, default: [:]][process, default: []].insert(connection)
        }
        if !contents.isEmpty {
            connections[connection] = Connection(process: process, contents: contents)
        }
    }

    /// Makes room for content that a process is about to hold.
    ///
    /// - Returns: The evictions that must happen first, often none; nil if there is no room because the process would
    ///   hold more than any other process.
    package func makeRoom(for content: Content, of process: Int32) -> [Eviction]? {
        guard holders[content] == nil, content.size > limit - bytes else { return [] }
        var missing = content.size - (limit - bytes)
        var shares = shares()
        let own = (shares[process] ?? 0) + content.size
        var evictions: [Eviction] = []
        var remaining = holders
        // Each iteration removes one process, so there are at most as many iterations as processes.
        while missing > 0, let (victim, share) = shares.max(by: { $0.value < $1.value }), share > own {
            shares[victim] = nil
            var rest = share
            let contents = remaining.compactMap { content, processes in
                processes[victim].map { (content, $0) }
            }
            for (content, connections) in contents.sorted(by: { $0.0.size > $1.0.size })
            where missing > 0 && rest > own {
                evictions.append(Eviction(content: content, connections: connections))
                rest -= content.size / (remaining[content]?.count ?? 1)
                remaining[content]?[victim] = nil
                if remaining[content]?.isEmpty == true {
                    remaining[content] = nil
                    missing -= content.size
                }
            }
        }
        return missing > 0 ? nil : evictions
    }

    /// The bytes that each process holds. The size of shared content is divided equally among its processes.
    private func shares() -> [Int32: Int] {
        var shares: [Int32: Int] = [:]
        for (content, processes) in holders {
            for process in processes.keys { shares[process, default: 0] += content.size / processes.count }
        }
        return shares
    }

    private mutating func remove(_ content: Content, _ connection: Int, _ process: Int32) {
        holders[content]?[process]?.remove(connection)
        if holders[content]?[process]?.isEmpty == true { holders[content]?[process] = nil }
        if holders[content]?.isEmpty == true {
            holders[content] = nil
            bytes -= content.size
        }
    }
}
