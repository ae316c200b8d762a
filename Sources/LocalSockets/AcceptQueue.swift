/// Chooses the length of the queue of connections that wait to be accepted.
///
/// A long queue absorbs a burst of clients. But clients that connect and disconnect immediately can fill any queue, and
/// well-behaved clients then wait for a long time. The queue is therefore short while most clients disconnect. If it is
/// full, a blocking connect(2) waits; a non-blocking one fails with EAGAIN, and the client retries.
package struct AcceptQueue {
    /// The normal queue length. The kernel lowers it to its own limit (listen(2)).
    package static let long: CInt = 128
    /// The queue length while more than four out of five clients disconnect before they are accepted.
    package static let short: CInt = 16

    /// The backlog argument of listen(2).
    var length: CInt { isShort ? Self.short : Self.long }
    /// Whether the queue is short, because more than four out of five recent clients have disconnected early.
    private(set) var isShort = false
    /// A counter: each abandoned connection adds 1, and each live one subtracts `weight`.
    private var abandoned = 0

    /// The value of `abandoned` at which the queue becomes short.
    static let most = 256
    /// The number of abandoned connections that one live connection offsets.
    static let weight = 4

    /// Records whether the client had disconnected before its connection was accepted.
    ///
    /// - Returns: Whether the length has changed.
    mutating func recordConnection(hasLeft: Bool) -> Bool {
        abandoned = hasLeft ? min(abandoned + 1, Self.most) : max(abandoned - Self.weight, 0)
        guard abandoned == (isShort ? 0 : Self.most) else { return false }
        isShort.toggle()
        return true
    }

    /// Resets the count after a period without connections.
    ///
    /// - Returns: Whether the length has changed.
    mutating func reset() -> Bool {
        defer { self = AcceptQueue() }
        return isShort
    }
}
