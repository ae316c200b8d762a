/// How many connections may wait to be accepted.
///
/// A long queue keeps a burst of clients from being refused. But peers that leave at once fill any queue, and an honest one
/// stands behind all of them. While most leave, the queue is short: a connect(2) that finds it full waits where the socket
/// blocks, and fails with EAGAIN where it does not, after which a client tries again.
package struct AcceptQueue {
    /// The length of the queue; the kernel lowers it to its own limit (listen(2)).
    package static let long: CInt = 128
    /// Its length while more than four of five peers leave.
    package static let short: CInt = 16

    /// The length for listen(2).
    var length: CInt { isShort ? Self.short : Self.long }
    /// Whether more than four of five peers have left, of those since the length has changed last.
    private(set) var isShort = false
    /// Grows with each peer that left, and shrinks faster with each that was there.
    private var leavers = 0

    /// So many leavers make the queue short.
    static let most = 256
    /// A peer that was there counts as much as so many that left.
    static let weight = 4

    /// Notes whether a peer had left before it was accepted.
    ///
    /// - Returns: Whether the length has changed.
    mutating func note(hasLeft: Bool) -> Bool {
        leavers = hasLeft ? min(leavers + 1, Self.most) : max(leavers - Self.weight, 0)
        guard leavers == (isShort ? 0 : Self.most) else { return false }
        isShort.toggle()
        return true
    }

    /// Notes that nobody has connected for a while.
    ///
    /// - Returns: Whether the length has changed.
    mutating func reset() -> Bool {
        defer { self = AcceptQueue() }
        return isShort
    }
}
