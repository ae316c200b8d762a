internal import CLinux
internal import Glibc

/// How a thread of the server shares a processor with other threads that want it.
package struct ThreadTurns: Sendable, Hashable {
    /// Whether the thread comes soon after it wakes up, by turns that are shorter than those of others.
    var areShort = false
    /// What the thread leaves to others (nice(2)): 0 for an equal share.
    var niceness: CInt = 0

    /// Like any other thread.
    package static let usual = ThreadTurns()
    /// For what takes less than a turn of the scheduler.
    package static let short = ThreadTurns(areShort: true)
    /// For what takes long.
    package static let yielding = ThreadTurns(niceness: 5)
    /// For accepting connections: those that are open come first.
    package static let accepting = ThreadTurns(areShort: true, niceness: 3)

    /// Has the calling thread share the processor so. A system that refuses leaves the thread as it is.
    func apply() {
        if areShort { _ = clinux_prefer_short_turns(100_000) }
        // On Linux this holds for the calling thread alone (setpriority(2)).
        if niceness != 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
    }
}
