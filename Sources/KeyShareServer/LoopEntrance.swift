internal import NIOCore
internal import Synchronization

/// The way onto the event loop for answers of the provider, which may come after the loop has ended.
///
/// A loop must not be given work once it is shut down. A provider that hangs is not waited for, so its
/// answer may come as late as that; here it is dropped.
final class LoopEntrance: Sendable {
    private let loop: any EventLoop
    private let isOpen = Mutex(true)

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func execute(_ work: @escaping @Sendable () -> Void) {
        isOpen.withLock { isOpen in
            if isOpen {
                loop.execute(work)
            }
        }
    }

    /// Must come before the loop is shut down.
    func close() {
        isOpen.withLock { $0 = false }
    }
}
