internal import NIOCore
internal import Synchronization

/// An event loop that ignores further tasks after it is closed.
///
/// Submitting a task to an NIO loop that was shut down is a programming error. The server does not wait for a hanging
/// provider, so a provider's outcome may arrive after the loop has ended. It is discarded here.
final class ClosableEventLoop: Sendable {
    private let loop: any EventLoop
    private let isOpen = Mutex(true)

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `work` on the loop. If the loop is closed, immediately runs `otherwise` instead.
    func execute(_ work: @escaping @Sendable () -> Void, otherwise: () -> Void = {}) {
        let isOpen = isOpen.withLock { isOpen in
            if isOpen {
                loop.execute(work)
            }
            return isOpen
        }
        if !isOpen { otherwise() }
    }

    /// Ignores all further tasks. Call this before the loop is shut down.
    func close() {
        isOpen.withLock { $0 = false }
    }
}
