/// Chooses the length of the queue of connections that wait to be accepted.
///
/// A long queue absorbs a burst of clients. But clients that connect and disconnect immediately can fill any queue, and
/// well-behaved clients then wait for a long time. The queue is therefore short while most clients disconnect. If it is
/// full, a blocking connect(2) waits; a non-blocking one fails with EAGAIN, and the client retries.
///
/// These are the rules of Unix domain sockets. For a TCP socket, use a queue of one length: if it is full, the kernel
/// drops a connection attempt, and the client repeats it only after 1 s.
package struct AcceptQueue: Sendable {
    /// The normal queue length. The kernel lowers it to its own limit (listen(2)).
    package static let long: CInt = 128
    /// The queue length while more than four out of five clients disconnect before they are accepted.
    package static let short: CInt = 16

    private let longLength: CInt
    private let shortLength: CInt
    /// The backlog argument of listen(2).
    var length: CInt { isShort ? shortLength : longLength }
    /// Whether the queue is short, because more than four out of five recent clients have disconnected early.
    private(set) var isShort = false
    /// A counter: each abandoned connection adds 1, and each live one subtracts `weight`.
    private var abandoned = 0

    /// The value of `abandoned` at which the queue becomes short.
    static let most = 256
    /// The number of abandoned connections that one live connection offsets.
    static let weight = 4

    /// Creates a queue that has one length until most clients disconnect early, and then another.
    package init(long: CInt = Self.long, short: CInt = Self.short) {
        longLength = long
        shortLength = short
    }

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
        defer { self = AcceptQueue(long: longLength, short: shortLength) }
        return isShort
    }
}
