internal import Foundation
internal import Glibc
internal import Synchronization

/// A writer of a log to a descriptor that never makes its callers wait.
///
/// A thread of its own writes. While it waits for a reader, lines are kept up to a limit of bytes, and dropped and
/// counted beyond it. Once there is a reader again, it is told how many lines are missing. A process may end while the
/// thread still waits.
package final class LineWriter: TextOutputStream, Sendable {
    private struct State {
        /// The bytes that the thread has not taken yet.
        var waiting: [UInt8] = []
        /// The lines that were dropped since the reader was told last.
        var dropped = 0
        /// All lines that were dropped.
        var allDropped = 0
        /// Whether the thread is writing what it took.
        var isWriting = false
    }

    /// The number of bytes that wait for a reader at most.
    package static let standardCapacity = 256 << 10

    private let descriptor: CInt
    private let capacity: Int
    private let state = Mutex(State())
    /// Signalled once for each line that waits.
    private let work = DispatchSemaphore(value: 0)
    /// Signalled when nothing is left to write, for `flush`.
    private let idle = DispatchSemaphore(value: 0)

    /// Starts the thread, which runs until the process ends.
    ///
    /// - Parameters:
    ///   - descriptor: where to write; it must stay open.
    ///   - capacity: how many bytes wait for a reader at most.
    package init(descriptor: CInt = STDERR_FILENO, capacity: Int = standardCapacity) {
        self.descriptor = descriptor
        self.capacity = capacity
        let thread = Thread { [self] in run() }
        thread.name = "log"
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// The number of lines that were dropped because nobody read.
    package var dropped: Int { state.withLock { $0.allDropped } }

    /// Hands over text, usually one line with its line feed. Returns at once.
    package func write(_ text: String) {
        let isTaken = state.withLock { state in
            guard state.waiting.count + text.utf8.count <= capacity else {
                state.dropped += 1
                state.allDropped += 1
                return false
            }
            state.waiting += text.utf8
            return true
        }
        if isTaken { work.signal() }
    }

    /// Waits until everything is written, but no longer than `patience`.
    package func flush(patience: Duration) {
        let (seconds, attoseconds) = patience.components
        let deadline = DispatchTime.now() + Double(seconds) + Double(attoseconds) / 1e18
        while state.withLock({ $0.isWriting || !$0.waiting.isEmpty }) {
            guard idle.wait(timeout: deadline) == .success else { return }
        }
    }

    private func run() {
        while true {
            work.wait()
            let (bytes, dropped) = state.withLock { state in
                defer {
                    state.waiting = []
                    state.dropped = 0
                    state.isWriting = true
                }
                return (state.waiting, state.dropped)
            }
            put(bytes)
            if dropped > 0 {
                put(Array("\(dropped) lines of the log were dropped, because nobody read them\n".utf8))
            }
            let isIdle = state.withLock { state in
                state.isWriting = false
                return state.waiting.isEmpty
            }
            if isIdle { idle.signal() }
        }
    }

    /// Writes all of `bytes`; gives them up where the descriptor takes no more, as there is no other place to tell.
    private func put(_ bytes: [UInt8]) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { rest in
                unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count > 0 {
                written += count
            } else if errno == EAGAIN {
                // Somebody made the descriptor non-blocking; this thread waits all the same.
                var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&poller, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
