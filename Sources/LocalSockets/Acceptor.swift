internal import Dispatch
internal import Glibc
internal import NIOPosix
internal import Synchronization

/// The thread that accepts the connections of a listening socket.
///
/// It closes abandoned connections, and passes all others to its owner before a byte is read. The owner rejects the
/// connections of other users on this thread, and passes the rest to the event loop. Clients that connect, send and
/// disconnect in a loop therefore cost time on this thread, and not on the event loop.
package final class Acceptor: Sendable {
    /// The acceptor's callbacks. Each is called on the acceptor's thread.
    package struct Events: Sendable {
        /// Called once, before the first connection; for example, to set the priority of the thread.
        package var started: @Sendable () -> Void
        /// A client connected. The receiver owns the descriptor. It returns false if it closed the connection, or true if
        /// it passed the connection to the event loop; then it also calls `done` after the event loop has processed it.
        package var connected: @Sendable (CInt, _ done: @escaping @Sendable () -> Void) -> Bool
        /// A connection is pending, but the system has no free descriptor; the argument is errno. Returns whether a
        /// descriptor was freed. The acceptor waits for the result.
        package var exhausted: @Sendable (CInt) -> Bool

        /// Creates the callbacks of an acceptor.
        package init(
            started: @escaping @Sendable () -> Void = {},
            connected: @escaping @Sendable (CInt, _ done: @escaping @Sendable () -> Void) -> Bool,
            exhausted: @escaping @Sendable (CInt) -> Bool
        ) {
            self.started = started
            self.connected = connected
            self.exhausted = exhausted
        }
    }

    private let listening: CInt
    private let initialQueue: AcceptQueue
    private let events: Events
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let abandoned: AbandonedConnectionCount
    /// A socket pair that wakes the waiting thread: `stop()` closes the first descriptor.
    private let wakers: (CInt, CInt)
    private let isStopped = Atomic(false)
    /// Slots for connections that the event loop has not processed yet. If all are in use, further connections stay in
    /// the socket's queue.
    private let room = DispatchSemaphore(value: 0)
    /// The maximum number of connections that wait for the event loop.
    package static let maximumPending = 32

    /// The time in milliseconds that the thread waits for a free descriptor. After the same time without a new
    /// connection, a short queue becomes long again.
    private static let pause: CInt = 1_000

    /// Creates an acceptor, which does nothing before `run()`.
    ///
    /// - Parameters:
    ///   - listening: The listening descriptor, which must be non-blocking. `run()` closes it.
    ///   - queue: The queue of connections that wait to be accepted.
    ///   - abandoned: Counts the connections whose clients disconnected before they were served.
    ///   - events: The callbacks.
    /// - Throws: `SocketError` `system` if the wake-up sockets cannot be created; the descriptor stays open.
    package init(
        listening: CInt, queue: AcceptQueue = AcceptQueue(), abandoned: AbandonedConnectionCount,
        events: Events
    ) throws(SocketError) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw SocketError(.system, "a socket cannot be created", errno: errno)
        }
        self.listening = listening
        initialQueue = queue
        self.events = events
        self.abandoned = abandoned
        wakers = (ends[0], ends[1])
        // libdispatch aborts if a semaphore is freed with a value below its initial one, so the initial value is 0.
        for _ in 0..<Self.maximumPending { room.signal() }
    }

    deinit {
        stop()
        close(wakers.1)
    }

    /// Accepts connections until `stop()` or until the listening socket fails, and closes the socket.
    ///
    /// - Throws: `SocketError` `system` if the socket failed.
    package func run() async throws(SocketError) {
        thread.start()
        let failure: CInt = await withCheckedContinuation { continuation in
            thread.submit { [self] _ in
                events.started()
                let failure = acceptAll()
                close(listening)
                continuation.resume(returning: failure)
            }
        }
        thread.shutdownGracefully { _ in }
        if failure != 0 {
            throw SocketError(.system, "the listening socket failed", errno: failure)
        }
    }

    /// Ends `run()`. If `Events.exhausted` is running, `run()` ends after it has returned. Connections that were
    /// already passed on remain open.
    package func stop() {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        close(wakers.0)
        room.signal()
    }

    /// Returns 0 after `stop()`, or the errno with which the socket failed.
    private func acceptAll() -> CInt {
        var queue = initialQueue
        var handedOver = 0
        var hasMadeRoom = false
        // An inherited socket already has a queue length, which this replaces.
        listen(listening, queue.length)
        while !isStopped.load(ordering: .acquiring) {
            switch ListeningSocket.accept(from: listening) {
            case .connection(let descriptor):
                hasMadeRoom = false
                if queue.recordConnection(hasLeft: !deliver(descriptor, after: &handedOver)) {
                    listen(listening, queue.length)
                }
            case .nothing:
                handedOver = 0
                let isQuiet = !wait(for: listening, atMost: queue.isShort ? Self.pause : -1)
                if isQuiet, queue.reset() { listen(listening, queue.length) }
            case .exhausted(let reason):
                // The system reports this even if no connection is pending.
                guard wait(for: listening, atMost: 0) else {
                    wait(for: listening)
                    continue
                }
                // If freeing one descriptor did not help, freeing another would not help either.
                hasMadeRoom = !hasMadeRoom && events.exhausted(reason)
                if !hasMadeRoom { wait(atMost: Self.pause) }
            case .refused:
                wait(atMost: Self.pause)
            case .failed(let reason):
                return reason
            }
        }
        return 0
    }

    /// Passes a connection to the event loop, or closes it.
    ///
    /// - Parameters:
    ///   - descriptor: The connection.
    ///   - others: The number of connections that were passed on since the thread last waited.
    /// - Returns: Whether the client was still connected.
    private func deliver(_ descriptor: CInt, after others: inout Int) -> Bool {
        guard !ListeningSocket.hasPeerLeft(descriptor) else {
            // The client no longer waits for an answer.
            close(descriptor)
            abandoned.add()
            return false
        }
        if others == Self.maximumPending {
            waitForEventLoop()
            others = 0
        }
        room.wait()
        if events.connected(descriptor, { [room] in room.signal() }) {
            others += 1
        } else {
            room.signal()
        }
        return true
    }

    /// Waits until the event loop has processed its other events. A turn of the loop does not end while tasks are
    /// queued, and each connection that is passed to the loop queues a task.
    private func waitForEventLoop() {
        for _ in 0..<Self.maximumPending {
            room.wait()
            if isStopped.load(ordering: .acquiring) { break }
        }
        for _ in 0..<Self.maximumPending { room.signal() }
        wait(atMost: 1)
    }

    /// Waits until `descriptor` is readable, `time` milliseconds have passed, or the acceptor is stopped.
    ///
    /// - Returns: Whether `descriptor` is readable.
    @discardableResult private func wait(for descriptor: CInt = -1, atMost time: CInt = -1) -> Bool {
        // poll(2) ignores a negative descriptor, and treats a negative timeout as infinite.
        var pollers = [wakers.1, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&pollers, 2, time)
        return pollers[1].revents != 0
    }
}

/// The number of connections whose clients disconnected before they were served.
package final class AbandonedConnectionCount: Sendable {
    private let count = Atomic(0)

    /// Starts at zero.
    package init() {}

    /// The current count.
    package var value: Int { count.load(ordering: .relaxed) }

    /// Counts one connection.
    package func add() {
        count.add(1, ordering: .relaxed)
    }
}
