internal import Foundation
internal import Glibc
internal import Synchronization

/// A log writer that never blocks its callers.
///
/// A separate thread writes to the descriptor. While the reader is slow, lines are buffered up to a limit in bytes.
/// Further lines are dropped and counted, and the number of missing lines is reported when the reader continues. The
/// process may end while the thread still waits.
package final class LineWriter: TextOutputStream, Sendable {
    private struct State {
        /// The buffered bytes that the thread will write next.
        var waiting: [UInt8] = []
        /// The number of lines dropped since the last report.
        var dropped = 0
        /// The total number of dropped lines.
        var allDropped = 0
        /// Whether the thread is writing to the descriptor now.
        var isWriting = false
    }

    /// The default limit of the buffer in bytes.
    package static let standardCapacity = 256 << 10

    private let descriptor: CInt
    private let capacity: Int
    private let report: @Sendable (Int) -> String
    private let state = Mutex(State())
    /// Signalled once for each buffered line.
    private let work = DispatchSemaphore(value: 0)
    /// Signalled when the buffer is empty, for `flush`.
    private let idle = DispatchSemaphore(value: 0)

    /// Starts the thread, which runs until the process ends.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor to write to; it must stay open.
    ///   - capacity: The maximum number of buffered bytes.
    ///   - report: Returns the line that reports a number of dropped lines, without its line feed.
    package init(
        descriptor: CInt = STDERR_FILENO, capacity: Int = standardCapacity,
        reportingDropped report: @escaping @Sendable (Int) -> String = droppedText
    ) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.report = report
        let thread = Thread { [self] in run() }
        thread.name = "log"
        thread.stackSize = 256 << 10
        thread.start()
    }

    /// The usual text about dropped lines.
    package static func droppedText(_ count: Int) -> String {
        "\(count) lines of the log were dropped, because the reader was too slow"
    }

    /// The number of lines that were dropped because the reader was too slow.
    package var dropped: Int { state.withLock { $0.allDropped } }

    /// Queues text, usually one line with its line feed, and returns immediately.
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

    /// Waits until all queued text is written, but no longer than `patience`.
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
            if dropped > 0 { put(Array("\(report(dropped))\n".utf8)) }
            let isIdle = state.withLock { state in
                state.isWriting = false
                return state.waiting.isEmpty
            }
            if isIdle { idle.signal() }
        }
    }

    /// Writes all of `bytes`. Discards the rest after an error, because the error could not be reported anywhere else.
    private func put(_ bytes: [UInt8]) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { rest in
                unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count > 0 {
                written += count
            } else if errno == EAGAIN {
                // Another process made the descriptor non-blocking, so wait until it accepts more bytes.
                var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&poller, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
