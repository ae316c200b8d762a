import CLinux
import Dispatch
import Glibc
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import SecretMemory
import Synchronization
import TestSupport
import Testing

/// The replies to requests that many connections send at one time.
@Suite(.timeLimit(.minutes(10))) struct ReplySchedulerTests {
    @Test("Requests that arrive together share one check of the device, and each gets its own reply")
    func together() async throws {
        let hold = LoopHold()
        var provider = StandInProvider(count: 3)
        provider.beforePassword = { hold.pass() }
        let items = provider.items.map(\.identifier)
        try await withServer(provider) { [provider] path, _ in
            // More replies than one system call writes.
            let peers = try await Self.peers(100, at: path, using: items)
            try await hold.hold(by: peers[0], Self.fetch(items[0]))
            // The server must also end if the test fails.
            defer { hold.release() }
            for (number, peer) in peers.enumerated().dropFirst() {
                try await peer.send(
                    number % 2 == 0 ? Self.fetch(items[0]) : .item(identifier: items[number % 3]),
                    id: UInt32(100 + number))
            }
            let looks = provider.looks
            hold.release()
            #expect(try await peers[0].frame()?.id == 99)
            for (number, peer) in peers.enumerated().dropFirst() {
                let frame = try #require(try await peer.frame())
                #expect(frame.id == UInt32(100 + number))
                let expected: ProviderReply =
                    number % 2 == 0
                    ? .password(StandInProvider.password) : .item(provider.items[number % 3])
                #expect(frame.reply == expected)
            }
            // The kernel reports 64 connections at a time at first, and more later.
            #expect((1...3).contains(provider.looks - looks))
        }
    }

    @Test(
        "Replies that exceed a socket's buffer arrive complete, and delay no other reply of the batch"
    )
    func longReplies() async throws {
        let hold = LoopHold()
        var provider = StandInProvider(items: [StandInProvider.file("long", size: nil)])
        let content = (0..<480_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        provider.contents = ["long": content]
        provider.beforePassword = { hold.pass() }
        try await withServer(provider) { path, _ in
            let peers = try await Self.peers(5, at: path, using: ["long"])
            /// Lets the second client request chunks of 60,000 bytes.
            func ask(for pieces: Range<Int>) async throws {
                for number in pieces {
                    try await peers[1].send(
                        .read(identifier: "long", offset: UInt64(number * 60_000), length: 60_000),
                        id: UInt32(10 + number))
                }
            }
            // A socket buffers about 200 KiB: these three replies, and then a part of the next two.
            try await ask(for: 0..<3)
            try await peers[2].send(.read(identifier: "long", offset: 0, length: 1), id: 3)
            #expect(try await peers[2].frame()?.id == 3)
            try await hold.hold(by: peers[0], Self.fetch("long"))
            // The server must also end if the test fails.
            defer { hold.release() }
            try await ask(for: 3..<8)
            for peer in peers[2...] { try await peer.send(Self.fetch("long"), id: 4) }
            hold.release()
            for peer in peers[2...] {
                #expect(try await peer.frame()?.reply == .password(StandInProvider.password))
            }
            for number in 0..<8 {
                let chunk = content[number * 60_000..<(number + 1) * 60_000]
                let frame = try #require(try await peers[1].frame())
                #expect(frame.id == UInt32(10 + number))
                #expect(frame.reply == .chunk(ContentChunk(total: content.count, bytes: chunk)))
            }
        }
    }

    @Test("A client that disconnects before its reply gets none, and does not affect other clients")
    func leftMeanwhile() async throws {
        let hold = LoopHold()
        let passwords = PasswordCount()
        var provider = StandInProvider(count: 1)
        provider.beforePassword = {
            passwords.add()
            hold.pass()
        }
        let item = provider.items[0].identifier
        try await withServer(provider) { path, _ in
            var peers = try await Self.peers(20, at: path, using: [item])
            try await hold.hold(by: peers[0], Self.fetch(item))
            // The server must also end if the test fails.
            defer { hold.release() }
            for peer in peers.dropFirst() { try await peer.send(Self.fetch(item), id: 4) }
            // Every second client disconnects: its connection ends with its last reference.
            peers = peers.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            hold.release()
            for peer in peers.dropFirst() {
                #expect(try await peer.frame()?.reply == .password(StandInProvider.password))
            }
            #expect(passwords.value == 10)
        }
    }

    @Test(
        "A client that shuts down its sending side gets its reply under the grants valid at that time",
        arguments: [1, 2])
    func finishedSending(peers count: Int) async throws {
        let hold = LoopHold()
        var provider = StandInProvider(count: 1)
        provider.beforePassword = { hold.pass() }
        let item = provider.items[0].identifier
        try await withServer(provider) { [provider] path, _ in
            let peers = try await Self.peers(count, at: path, using: [item])
            try await hold.hold(by: peers[0], Self.fetch(item))
            // The server must also end if the test fails.
            defer { hold.release() }
            for peer in peers {
                try await peer.send(Self.fetch(item), id: 4)
                peer.finishSending()
            }
            provider.setPeriod(1)
            hold.release()
            #expect(try await peers[0].frame()?.id == 99)
            for peer in peers {
                let frame = try #require(try await peer.frame())
                guard case .failure(let failure) = frame.reply else {
                    Issue.record("a password under a grant that has ended")
                    continue
                }
                #expect(failure.code == .notAvailable)
                #expect(try await peer.frame() == nil)
            }
        }
    }

    /// Connections that have completed the hello and have access to the items.
    private static func peers(_ count: Int, at path: String, using items: [String]) async throws -> [RawPeer]
    {
        var peers: [RawPeer] = []
        for _ in 0..<count {
            let peer = try RawPeer(path: path)
            try await peer.greet()
            for item in items {
                try await peer.send(.startAccessing(identifier: item), id: 2)
                _ = try await peer.frame()
            }
            peers.append(peer)
        }
        return peers
    }

    private static func fetch(_ identifier: String) -> ProviderRequest {
        .fetchPassword(service: PasswordService.name, identifier: identifier)
    }
}

/// Tests of the queue that writes to many sockets with one system call.
@Suite(.timeLimit(.minutes(10))) struct WriteQueueTests {
    @Test("The write queue reports the outcome of every write", arguments: [true, false])
    func outcomes(usesQueue: Bool) throws {
        signal(SIGPIPE, SIG_IGN)
        var queue: UInt64 = 0
        if usesQueue {
            // A kernel without such queues is covered by the other case.
            guard unsafe clinux_open_write_queue(64, &queue) == 0 else { return }
        }
        defer { clinux_close_write_queue(queue) }
        // More writes than one call submits.
        var pairs = (0..<150).map { _ in Self.pair() }
        defer { for pair in pairs { close(pair.0); if pair.1 >= 0 { close(pair.1) } } }
        let (left, full, closed, short) = (3, 70, 71, 149)
        close(pairs[left].1)
        pairs[left].1 = -1
        let filler = [UInt8](repeating: 1, count: 1 << 16)
        while unsafe send(pairs[full].0, filler, filler.count, CInt(MSG_DONTWAIT)) > 0 {}
        let long = [UInt8](repeating: 2, count: 1 << 22)

        var outcomes: [Int64] = []
        let reply: [UInt8] = Array("reply".utf8)
        unsafe reply.withUnsafeBytes { reply in
            unsafe long.withUnsafeBytes { long in
                var writes = unsafe pairs.indices.map { index in
                    let bytes = unsafe index == short ? long : reply
                    return unsafe clinux_write(
                        descriptor: index == closed ? -1 : pairs[index].0, bytes: bytes.baseAddress,
                        count: bytes.count, written: 0)
                }
                let count = unsafe UInt32(writes.count)
                unsafe writes.withUnsafeMutableBufferPointer {
                    unsafe clinux_write_all(&queue, $0.baseAddress, count)
                }
                outcomes = unsafe writes.map { unsafe $0.written }
            }
        }
        #expect(outcomes[left] == Int64(-EPIPE))
        #expect(outcomes[full] == Int64(-EAGAIN))
        #expect(outcomes[closed] == Int64(-EBADF))
        #expect((1..<Int64(long.count)).contains(outcomes[short]))
        for index in pairs.indices where ![left, full, closed, short].contains(index) {
            #expect(outcomes[index] == 5)
            var room = [UInt8](repeating: 0, count: 16)
            let received = unsafe recv(pairs[index].1, &room, room.count, CInt(MSG_DONTWAIT))
            #expect(received == 5 && room.starts(with: reply))
        }
    }

    private static func pair() -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        _ = unsafe socketpair(AF_UNIX, type, 0, &ends)
        return (ends[0], ends[1])
    }
}

/// The number of passwords that were returned.
private final class PasswordCount: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }

    func add() {
        count.add(1, ordering: .relaxed)
    }
}

/// Holds a server's event loop while it answers a password request, so that requests of other connections arrive.
private final class LoopHold: Sendable {
    private let isWanted = Atomic(false)
    private let begun = Gate()
    private let end = DispatchSemaphore(value: 0)

    /// Called before the provider returns a password.
    func pass() {
        guard isWanted.exchange(false, ordering: .acquiringAndReleasing) else { return }
        Task { await begun.pass() }
        end.wait()
    }

    /// Lets `peer` request a password with request 99, and waits until the loop is held.
    func hold(by peer: RawPeer, _ request: ProviderRequest) async throws {
        isWanted.store(true, ordering: .releasing)
        try await peer.send(request, id: 99)
        await begun.arrival()
    }

    /// Releases the event loop.
    func release() {
        begun.open()
        end.signal()
    }
}
