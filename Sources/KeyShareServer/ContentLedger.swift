/// The record of which connections hold which content in memory: sizes and owners, no I/O.
///
/// Content that several connections hold is in memory once and is counted once. Where there is no room for more, it is
/// taken back from the process that holds most (`Protocol.md` of `KeyShareWire`, "Limits and deadlines").
package struct ContentLedger: Sendable {
    /// Content in memory. Two arrays that share their memory have one identity.
    package struct Piece: Sendable, Hashable {
        private let address: UInt
        /// The number of bytes.
        package let size: Int

        /// Names the memory of `bytes`. The name is good for as long as somebody keeps the array.
        package init(_ bytes: [UInt8]) {
            address = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            size = bytes.count
        }
    }

    /// Content that one process must give up.
    package struct Reclaim: Sendable, Hashable {
        /// The content.
        package var piece: Piece
        /// The connections of the process that hold it.
        package var connections: Set<Int>

        /// Names content and its holders.
        package init(piece: Piece, connections: Set<Int>) {
            self.piece = piece
            self.connections = connections
        }
    }

    private struct Connection {
        var process: Int32
        var pieces: [Piece]
    }

    private let limit: Int
    private var connections: [Int: Connection] = [:]
    /// For each piece the processes that hold it, each with its connections.
    private var holders: [Piece: [Int32: Set<Int>]] = [:]

    /// The bytes of all content that is held.
    package private(set) var bytes = 0

    /// Makes a ledger of nothing.
    ///
    /// - Parameter limit: The bytes that may be held in all.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Notes what a connection holds from now on, in place of what it held before.
    ///
    /// - Parameters:
    ///   - connection: The connection's id.
    ///   - process: The connection's process.
    ///   - pieces: All content that it holds; empty for none.
    package mutating func set(_ connection: Int, process: Int32, _ pieces: [Piece]) {
        let former = connections.removeValue(forKey: connection)?.pieces ?? []
        let now = Set(pieces)
        for piece in Set(former).subtracting(now) { remove(piece, connection, process) }
        for piece in now.subtracting(former) {
            if holders[piece] == nil { bytes += piece.size }
            holders[piece, default: [:]][process, default: []].insert(connection)
        }
        if !pieces.isEmpty {
            connections[connection] = Connection(process: process, pieces: pieces)
        }
    }

    /// Makes room for content that a process is about to hold.
    ///
    /// - Returns: What others must give up first, often nothing; nil where there is no room, because the process would
    ///   hold more than each of the others.
    package func makeRoom(for piece: Piece, of process: Int32) -> [Reclaim]? {
        guard holders[piece] == nil, piece.size > limit - bytes else { return [] }
        guard piece.size <= limit else { return nil }
        var missing = piece.size - (limit - bytes)
        var shares = shares()
        let own = (shares[process] ?? 0) + piece.size
        var reclaims: [Reclaim] = []
        var remaining = holders
        // Each turn takes one process out, so that there are no more turns than processes.
        while missing > 0, let (victim, share) = shares.max(by: { $0.value < $1.value }), share > own {
            shares[victim] = nil
            var rest = share
            let pieces = remaining.compactMap { piece, processes in processes[victim].map { (piece, $0) } }
            for (piece, connections) in pieces.sorted(by: { $0.0.size > $1.0.size })
            where missing > 0 && rest > own {
                reclaims.append(Reclaim(piece: piece, connections: connections))
                rest -= piece.size / (remaining[piece]?.count ?? 1)
                remaining[piece]?[victim] = nil
                if remaining[piece]?.isEmpty == true {
                    remaining[piece] = nil
                    missing -= piece.size
                }
            }
        }
        return missing > 0 ? nil : reclaims
    }

    /// The bytes that each process holds. Content of several processes counts to each of them in equal parts.
    private func shares() -> [Int32: Int] {
        var shares: [Int32: Int] = [:]
        for (piece, processes) in holders {
            for process in processes.keys { shares[process, default: 0] += piece.size / processes.count }
        }
        return shares
    }

    private mutating func remove(_ piece: Piece, _ connection: Int, _ process: Int32) {
        holders[piece]?[process]?.remove(connection)
        if holders[piece]?[process]?.isEmpty == true { holders[piece]?[process] = nil }
        if holders[piece]?.isEmpty == true {
            holders[piece] = nil
            bytes -= piece.size
        }
    }
}
