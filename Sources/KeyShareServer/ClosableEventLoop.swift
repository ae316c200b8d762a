internal import NIOCore
internal import Synchronization

/// An event loop that takes no more work once it is closed.
///
/// Work for an NIO loop that is shut down is an error of the program. The server does not wait for a provider that
/// hangs, so that the provider's answer may come after the loop has ended; here the answer is dropped.
final class ClosableEventLoop: Sendable {
    private let loop: any EventLoop
    private let isOpen = Mutex(true)

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `work` on the loop, unless the loop is closed.
    func execute(_ work: @escaping @Sendable () -> Void) {
        isOpen.withLock { isOpen in
            if isOpen {
                loop.execute(work)
            }
        }
    }

    /// Drops all work from now on. Call it before the loop is shut down.
    func close() {
        isOpen.withLock { $0 = false }
    }
}
