private import Glibc
private import Synchronization

/// A stretch of time in which the looks of one thread at what is watched count as one, as while a server answers what it
/// has just read: it needs to know how things stood then, however often it asks.
package final class LookTurn: Sendable {
    /// The thread whose turn it is; 0 where there is none.
    private let thread = Atomic<UInt>(0)
    /// The number of turns so far.
    private let count = Atomic<UInt64>(0)

    /// No turn yet.
    package init() {}

    /// Runs `body` as a turn of this thread. A turn within a turn is part of it; while another thread has its turn, this
    /// one looks whenever it has to.
    package func run(_ body: () -> Void) {
        let isOurs = thread.compareExchange(
            expected: 0, desired: pthread_self(), ordering: .acquiringAndReleasing
        ).exchanged
        if isOurs { count.add(1, ordering: .relaxed) }
        body()
        if isOurs { thread.store(0, ordering: .releasing) }
    }

    /// The number of this thread's turn; nil where it has none.
    var number: UInt64? {
        thread.load(ordering: .acquiring) == pthread_self() ? count.load(ordering: .relaxed) : nil
    }
}
