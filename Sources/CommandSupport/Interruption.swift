internal import Glibc
internal import Synchronization

/// Handles Ctrl-C in long commands: the first one lets the current step finish, and the second one ends the process
/// immediately.
package enum Interruption {
    private static let flag = Atomic<Bool>(false)

    /// Whether SIGINT arrived since ``watch()``.
    package static var isRequested: Bool { flag.load(ordering: .relaxed) }

    /// Records the next SIGINT instead of ending the process. The one after it has its default effect.
    package static func watch() {
        // The flag must exist before the handler uses it, because a handler must not initialize anything.
        flag.store(false, ordering: .relaxed)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { _ in
            Interruption.flag.store(true, ordering: .relaxed)
        }
        action.sa_flags = CInt(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
        unsafe sigaction(SIGINT, &action, nil)
    }

    /// Ends the process by SIGINT, as an interrupted process should end, so that a shell also stops its script.
    /// Returns only if the signal is blocked.
    package static func end() {
        signal(SIGINT, SIG_DFL)
        // Threads of libdispatch block all signals.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGINT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(SIGINT)
    }
}
