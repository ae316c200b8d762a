private import Glibc
private import Synchronization

/// A *turn* is a period during which one thread sees a single snapshot of the watched state, however often it checks.
/// If a server handles a request in a turn, all of its checks see the state at the time of the request.
package final class WatchSnapshot: Sendable {
    /// The thread that has the current turn; 0 if there is no turn.
    private let thread = Atomic<UInt>(0)
    /// The number of turns so far.
    private let count = Atomic<UInt64>(0)

    /// Creates a snapshot without a turn.
    package init() {}

    /// Runs `body` as a turn of this thread. A nested turn is part of the outer one. While another thread has the turn,
    /// `body` runs without one, and every check asks the kernel.
    package func run(_ body: () -> Void) {
        let isOurs = thread.compareExchange(
            expected: 0, desired: pthread_self(), ordering: .acquiringAndReleasing
        ).exchanged
        if isOurs { count.add(1, ordering: .relaxed) }
        body()
        if isOurs { thread.store(0, ordering: .releasing) }
    }

    /// The number of this thread's turn; nil if it has no turn.
    var number: UInt64? {
        thread.load(ordering: .acquiring) == pthread_self() ? count.load(ordering: .relaxed) : nil
    }
}
