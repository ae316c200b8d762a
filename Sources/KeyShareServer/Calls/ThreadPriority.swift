internal import CLinux
internal import Glibc

/// The scheduling priority of a server thread.
package struct ThreadPriority: Sendable, Hashable {
    /// Whether the thread asks for shorter time slices than other threads, so that it runs soon after it wakes up.
    var hasShortSlices = false
    /// The nice value (nice(2)): 0 for an equal share.
    var niceness: CInt = 0

    /// The default priority.
    package static let normal = ThreadPriority()
    /// For tasks that take less than one time slice.
    package static let shortSlices = ThreadPriority(hasShortSlices: true)
    /// For long-running tasks.
    package static let background = ThreadPriority(niceness: 5)
    /// For accepting connections. Open connections have priority.
    package static let accepting = ThreadPriority(hasShortSlices: true, niceness: 3)

    /// Sets the priority of the calling thread. If the system refuses, the priority is unchanged.
    func apply() {
        if hasShortSlices { _ = clinux_prefer_short_turns(100_000) }
        // On Linux this applies only to the calling thread (setpriority(2)).
        if niceness != 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
    }
}
