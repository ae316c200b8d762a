import Foundation
import Glibc
@testable import KeyShareServer
@testable import LocalSockets
import Synchronization
import TestSupport
import Testing

/// The thread that accepts connections, and the length of its queue.
@Suite(.timeLimit(.minutes(10))) struct AcceptorTests {
    @Test("The accept queue is shortened while most clients disconnect, and lengthened when clients stay")
    func queue() {
        var queue = AcceptQueue()
        #expect(queue.length == AcceptQueue.long)
        // Every fifth client stays connected, which keeps the queue long.
        let fifth = (0..<2_000).map { queue.recordConnection(hasLeft: $0 % 5 != 4) }
        #expect(!fifth.contains(true) && !queue.isShort)
        let abandoned = (1...AcceptQueue.most).map { _ in queue.recordConnection(hasLeft: true) }
        #expect(abandoned.last == true && abandoned.count { $0 } == 1)
        #expect(queue.isShort && queue.length == AcceptQueue.short)
        // Every twentieth client stays connected, which keeps the queue short.
        let few = (0..<2_000).map { queue.recordConnection(hasLeft: $0 % 20 != 0) }
        #expect(!few.contains(true) && queue.isShort)
        let stayers = (1...AcceptQueue.most / AcceptQueue.weight).map { _ in
            queue.recordConnection(hasLeft: false)
        }
        #expect(stayers.count { $0 } == 1 && !queue.isShort)
    }

    @Test("A short queue returns to full length after a period without connections")
    func quiet() {
        var queue = AcceptQueue()
        let isChanged = queue.reset()
        #expect(!isChanged)
        for _ in 0..<AcceptQueue.most { _ = queue.recordConnection(hasLeft: true) }
        let isChangedBack = queue.reset()
        #expect(isChangedBack && queue.length == AcceptQueue.long)
    }

    @Test("At most 32 connections wait for the event loop; the acceptor holds back further ones")
    func backPressure() async throws {
        let handedOver = HandedOver()
        try await withAcceptor(
            Acceptor.Events(
                connected: { descriptor, done in
                    handedOver.add(descriptor, done)
                    return true
                },
                exhausted: { _ in false })
        ) { path in
            let peers = try (0..<40).map { _ in try RawPeer(path: path) }
            await handedOver.wait(for: 32)
            #expect(handedOver.count == 32)
            handedOver.deal(with: 32)
            await handedOver.wait(for: 40)
            handedOver.deal(with: 8)
            withExtendedLifetime(peers) {}
        }
        #expect(handedOver.count == 40)
    }

    @Test("Connections that are rejected on the acceptor's thread do not count as waiting")
    func rejected() async throws {
        let count = Mutex(0)
        try await withAcceptor(
            Acceptor.Events(
                connected: { descriptor, _ in
                    count.withLock { $0 += 1 }
                    close(descriptor)
                    return false
                },
                exhausted: { _ in false })
        ) { path in
            for _ in 0..<2 * Acceptor.maximumPending {
                let peer = try RawPeer(path: path)
                #expect(try await peer.rest().isEmpty)
            }
        }
        #expect(count.withLock { $0 } == 2 * Acceptor.maximumPending)
    }

    @Test("Abandoned connections are closed and counted, and are not passed on")
    func abandoned() async throws {
        let scratch = try ScratchFolder()
        let listener = try Listener(path: scratch.path("provider.sock"))
        for _ in 0..<3 { _ = try RawPeer(path: listener.path) }
        let peer = try RawPeer(path: listener.path)
        let (handedOver, abandoned) = (HandedOver(), AbandonedConnectionCount())
        let acceptor = try Acceptor(
            listening: try #require(listener.takeDescriptor()), abandoned: abandoned,
            events: Acceptor.Events(
                connected: { descriptor, done in
                    handedOver.add(descriptor, done)
                    return true
                },
                exhausted: { _ in false }))
        let running = Task { try await acceptor.run() }
        #expect(try await peer.rest().isEmpty)
        #expect(handedOver.count == 1 && abandoned.value == 3)
        acceptor.stop()
        try await running.value
    }

    @Test("The queue of a TCP socket keeps its length while most clients disconnect")
    func fixedLength() {
        var queue = AcceptQueue(long: 4_096, short: 4_096)
        for _ in 0...AcceptQueue.most { _ = queue.recordConnection(hasLeft: true) }
        #expect(queue.isShort && queue.length == 4_096)
        _ = queue.reset()
        #expect(!queue.isShort && queue.length == 4_096)
    }

    @Test("Only a stream socket that has a path and listens is inherited")
    func inherited() throws {
        let scratch = try ScratchFolder()
        let descriptors = [
            try makeBoundSocket(at: scratch.path("datagram"), SOCK_DGRAM),
            try makeBoundSocket(at: scratch.path("stream")),
        ]
        defer { descriptors.forEach { _ = close($0) } }
        for descriptor in descriptors {
            #expect(throws: SocketError(.notASocket, "")) { try Listener(inherited: descriptor) }
        }
        try #require(listen(descriptors[1], 1) == 0)
        let listener = try Listener(inherited: descriptors[1])
        #expect(listener.takeDescriptor() == descriptors[1])
    }

    @Test("A listening TCP socket is not inherited, even if its address looks like a path")
    func inheritedTCP() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        // The port follows the address family, as a path does. Its first byte is a slash.
        let ports = (0x2F01...0x2FFF).lazy.map { UInt16($0) }
        let port = ports.first { port in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return unsafe withUnsafePointer(to: &address) { address in
                unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
        try #require(port != nil && listen(descriptor, 1) == 0)
        #expect(throws: SocketError(.notASocket, "")) { try Listener(inherited: descriptor) }
    }

    @Test("A descriptor that is not a connected UNIX-domain socket has no peer")
    func noPeer() throws {
        let scratch = try ScratchFolder()
        _ = try scratch.write([1], as: "file")
        let file = unsafe open(scratch.path("file"), O_RDONLY)
        defer { close(file) }
        #expect(PeerIdentity(descriptor: file) == nil)
        #expect(PeerIdentity(descriptor: -1) == nil)
    }

    @Test("The listener of a path is found without leaving a descriptor open, and only for a valid path")
    func listener() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.path + "/"
        let path = folder + String(repeating: "x", count: SocketPath.maximumLength - folder.utf8.count)
        #expect(PeerIdentity.listener(at: path) == nil)
        let listener = try Listener(path: path)
        #expect(PeerIdentity.listener(at: path)?.processID == getpid())
        // The address would be cut to the path of the listener.
        #expect(PeerIdentity.listener(at: path + "x") == nil)
        func descriptors() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        }
        let before = try descriptors()
        for _ in 0..<1_000 { #expect(PeerIdentity.listener(at: folder + "none") == nil) }
        // Other tests may open descriptors at the same time.
        #expect(try descriptors() < before + 500)
        listener.close()
    }

    @Test("An error of the listening socket ends the acceptor, and an empty queue does not")
    func acceptErrors() throws {
        let scratch = try ScratchFolder()
        let silent = try makeBoundSocket(at: scratch.path("silent"))
        _ = try scratch.write([1], as: "file")
        let file = unsafe open(scratch.path("file"), O_RDONLY)
        defer { [silent, file].forEach { _ = close($0) } }
        for (descriptor, reason) in [(-1, EBADF), (silent, EINVAL), (file, ENOTSOCK)] as [(CInt, CInt)] {
            guard case .failed(reason) = ListeningSocket.accept(from: descriptor) else {
                Issue.record("\(descriptor) did not fail")
                continue
            }
        }
        let listener = try Listener(path: scratch.path("provider.sock"))
        let descriptor = try #require(listener.takeDescriptor())
        defer { close(descriptor) }
        guard case .nothing = ListeningSocket.accept(from: descriptor) else {
            Issue.record("a connection was accepted")
            return
        }
    }

    @Test("An acceptor whose socket fails throws an error")
    func failedSocket() async throws {
        let file = unsafe open("/dev/null", O_RDONLY)
        let acceptor = try Acceptor(
            listening: file, abandoned: AbandonedConnectionCount(),
            events: Acceptor.Events(connected: { _, _ in false }, exhausted: { _ in false }))
        await #expect(throws: SocketError.self) { try await acceptor.run() }
    }

    /// Runs an acceptor while `body` runs, and checks that it ends.
    private func withAcceptor(
        _ events: Acceptor.Events, _ body: (String) async throws -> Void
    ) async throws {
        let scratch = try ScratchFolder()
        let listener = try Listener(path: scratch.path("provider.sock"))
        let acceptor = try Acceptor(
            listening: try #require(listener.takeDescriptor()), abandoned: AbandonedConnectionCount(),
            events: events)
        let running = Task { try await acceptor.run() }
        let result = await Result { () async throws in try await body(listener.path) }
        acceptor.stop()
        try await running.value
        try result.get()
    }
}

/// The connections that an acceptor has passed on.
private final class HandedOver: Sendable {
    private struct State {
        var count = 0
        var waiting: [@Sendable () -> Void] = []
        var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())
    var count: Int { state.withLock { $0.count } }

    func add(_ descriptor: CInt, _ done: @escaping @Sendable () -> Void) {
        // A peer that waits for the end of its connection then finds it counted.
        defer { close(descriptor) }
        let reached = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count += 1
            state.waiting.append(done)
            guard let watcher = state.watcher, watcher.count <= state.count else { return nil }
            state.watcher = nil
            return watcher.continuation
        }
        reached?.resume()
    }

    /// Waits until `count` connections were passed on.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.count < count { state.watcher = (count, continuation) }
                return state.count >= count
            }
            if isReached { continuation.resume() }
        }
    }

    /// Processes the first `count` pending connections.
    func deal(with count: Int) {
        let done = state.withLock { state in
            defer { state.waiting.removeFirst(min(count, state.waiting.count)) }
            return Array(state.waiting.prefix(count))
        }
        done.forEach { $0() }
    }
}
