internal import Dispatch
internal import Glibc
internal import LocalSockets
internal import NIOPosix
internal import Synchronization

/// The thread that accepts the connections of a listening socket.
///
/// It checks each of them before a byte is read: one that its peer has left, or that is another user's, is closed at once
/// (docs/rules.md R6.13). The event loop gets the others. Peers that connect, ask and leave without end take the time of
/// this thread, and none from the loop, which answers those that stay.
package final class Acceptor: Sendable {
    /// What the event loop is told; each is called on the acceptor's thread.
    struct Events: Sendable {
        /// A peer connected that is allowed to. The descriptor belongs to the receiver, which calls `done` once the loop has
        /// dealt with it.
        var connected: @Sendable (CInt, PeerIdentity, _ done: @escaping @Sendable () -> Void) -> Void
        /// A peer was turned away that is not allowed to connect; nil where the kernel does not name it. The receiver calls
        /// `done` here, too.
        var turnedAway: @Sendable (PeerIdentity?, _ done: @escaping @Sendable () -> Void) -> Void
        /// The system has no descriptor left for a connection that waits, as errno says. Returns whether one was freed; the
        /// acceptor waits for the result.
        var exhausted: @Sendable (CInt) -> Bool
    }

    private let listening: CInt
    private let acceptsPeer: @Sendable (PeerIdentity) -> Bool
    private let events: Events
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let leavers: LeaverCount
    /// A pair of sockets by which the thread is woken when it waits: `stop()` closes the first.
    private let wakers: (CInt, CInt)
    private let isStopped = Atomic(false)
    /// The room for connections that the event loop has not dealt with yet. Where it has many, others stay in the socket's
    /// queue.
    private let room = DispatchSemaphore(value: 0)
    /// The number of connections that were handed over and that the event loop has not dealt with yet.
    package static let mostHandedOver = 32

    /// How long the thread waits where the system has no descriptor left, and for how long nobody connects until a short
    /// queue is made long again, in milliseconds.
    private static let pause: CInt = 1_000

    /// Makes an acceptor, which does nothing before `run()`.
    ///
    /// - Parameters:
    ///   - listening: The listening descriptor, which must not block. `run()` closes it.
    ///   - leavers: Counts the connections that their peers had left before they were served.
    ///   - acceptsPeer: Tells whether this user may connect.
    ///   - events: What the event loop is told.
    /// - Throws: `SocketError` `system` where the thread cannot be woken; the descriptor stays open.
    init(
        listening: CInt, leavers: LeaverCount, acceptsPeer: @escaping @Sendable (PeerIdentity) -> Bool,
        events: Events
    ) throws(SocketError) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw SocketError(.system, "no socket can be made", errno: errno)
        }
        self.listening = listening
        self.acceptsPeer = acceptsPeer
        self.events = events
        self.leavers = leavers
        wakers = (ends[0], ends[1])
        // libdispatch ends the process where a semaphore is freed with a lower value than it was made with: it is made with 0.
        for _ in 0..<Self.mostHandedOver { room.signal() }
    }

    deinit {
        stop()
        close(wakers.1)
    }

    /// Accepts connections until `stop()` or until the listening socket fails, and closes the socket.
    ///
    /// - Throws: `SocketError` `system` where the socket failed.
    func run() async throws(SocketError) {
        thread.start()
        let failure: CInt = await withCheckedContinuation { continuation in
            thread.submit { [self] _ in
                ThreadTurns.accepting.apply()
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

    /// Ends `run()`, unless it waits for the answer to `Events.exhausted`: then it ends behind that. Connections that were
    /// handed over stay.
    func stop() {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        close(wakers.0)
        room.signal()
    }

    /// Returns 0 once it was stopped, or the errno with which the socket failed.
    private func acceptAll() -> CInt {
        var queue = AcceptQueue()
        var handedOver = 0
        var hasMadeRoom = false
        // Whoever made an inherited socket chose a length, too.
        listen(listening, queue.length)
        while !isStopped.load(ordering: .acquiring) {
            switch ListeningSocket.accept(from: listening) {
            case .connection(let descriptor):
                hasMadeRoom = false
                if queue.note(hasLeft: !take(descriptor, behind: &handedOver)) {
                    listen(listening, queue.length)
                }
            case .nothing:
                handedOver = 0
                let isQuiet = !wait(for: listening, atMost: queue.isShort ? Self.pause : -1)
                if isQuiet, queue.reset() { listen(listening, queue.length) }
            case .exhausted(let reason):
                // The system says so also where no connection waits.
                guard wait(for: listening, atMost: 0) else {
                    wait(for: listening)
                    continue
                }
                // Where a free descriptor did not help, others would not either.
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

    /// Hands a connection over or closes it.
    ///
    /// - Parameters:
    ///   - descriptor: The connection.
    ///   - others: The connections that were handed over since the thread waited last.
    /// - Returns: Whether its peer was there.
    private func take(_ descriptor: CInt, behind others: inout Int) -> Bool {
        guard !ListeningSocket.hasPeerLeft(descriptor) else {
            // Whatever it asked for, nobody waits for it.
            close(descriptor)
            leavers.add()
            return false
        }
        if others == Self.mostHandedOver {
            letLoopTurn()
            others = 0
        }
        others += 1
        room.wait()
        let done: @Sendable () -> Void = { [room] in room.signal() }
        let peer = PeerIdentity(descriptor: descriptor)
        if let peer, acceptsPeer(peer) {
            events.connected(descriptor, peer, done)
        } else {
            close(descriptor)
            events.turnedAway(peer, done)
        }
        return true
    }

    /// Lets the event loop go on to its other events. Its turn does not end while there is another task, and each connection
    /// that is handed over is one.
    private func letLoopTurn() {
        for _ in 0..<Self.mostHandedOver {
            room.wait()
            if isStopped.load(ordering: .acquiring) { break }
        }
        for _ in 0..<Self.mostHandedOver { room.signal() }
        wait(atMost: 1)
    }

    /// Waits until something can be read from `descriptor`, the time in milliseconds is over, or the acceptor is stopped.
    ///
    /// - Returns: Whether something can be read.
    @discardableResult private func wait(for descriptor: CInt = -1, atMost time: CInt = -1) -> Bool {
        // poll(2) ignores a negative descriptor, and a negative time is endless.
        var pollers = [wakers.1, descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = unsafe poll(&pollers, 2, time)
        return pollers[1].revents != 0
    }
}

/// The number of connections that their peers had left before they were served.
final class LeaverCount: Sendable {
    private let count = Atomic(0)

    /// The number so far.
    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more.
    func add() {
        count.add(1, ordering: .relaxed)
    }
}
