import KeyShareProtocol
import KeyShareServer
import TestSupport
import KeyShareClient
import KeyShareWire
import Foundation
import Glibc
import KeySharing
import Logging
import Synchronization
import Testing

@Suite("Hostile clients", .timeLimit(.minutes(10)))
struct HostilePeerTests {
    @Test("The server closes a rejected connection without sending a byte")
    func otherUserByFake() async throws {
        try await withServer(acceptsPeer: { _ in false }) { path, _ in
            let peer = try RawPeer(path: path)
            try? await peer.send(.item(identifier: "x"))
            #expect(try await peer.rest() == [])
        }
    }

    @Test(
        "A process of another user receives no bytes, even if the socket's mode lets it connect",
        .enabled(if: OtherUserProcess.isPossible, "needs root, setpriv and perl"))
    func otherUser() async throws {
        try await withServer { path, _ in
            let folder = URL(filePath: path).deletingLastPathComponent().path
            for mode: mode_t in [0o600, 0o644, 0o666] {
                unsafe chmod(folder, 0o755)
                unsafe chmod(path, mode)
                let said = try await OtherUserProcess.speak(to: path, as: 65_534)
                #expect(
                    said == (mode == 0o666 ? "connected, 0 bytes" : "refused"), "\(String(mode, radix: 8))")
            }
            // The same program gets an answer when it runs as the server's user.
            #expect(try await OtherUserProcess.speak(to: path, as: geteuid()) == "connected, 1 bytes")
        }
    }

    @Test("After a frame with an impossible length, the server sends one failure and closes the connection")
    func lengthBomb() async throws {
        try await withServer { path, _ in
            for length: [UInt8] in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 1, 0, 0], [0, 0, 0, 0]] {
                let peer = try RawPeer(path: path)
                try await peer.greet()
                try await peer.send(length)
                let answer = try await peer.frame()
                #expect(answer?.id == Wire.noRequest)
                #expect(answer?.reply == .failure(ProviderFailure(.malformed, "")))
                #expect(try await peer.rest() == [])
            }
        }
    }

    @Test("A client that sends its request one byte at a time gets its reply")
    func byteAtATime() async throws {
        let provider = StandInProvider(count: 1)
        try await withServer(provider) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            for byte in try WireSamples.bytes(.item(identifier: provider.items[0].identifier), id: 8) {
                try await peer.send([byte])
            }
            let answer = try await peer.frame()
            #expect(answer?.id == 8)
            #expect(answer?.reply == .item(provider.items[0]))
        }
    }

    @Test("Each of 300 requests in one burst gets its reply")
    func pipelining() async throws {
        let provider = StandInProvider(count: 1)
        let identifier = provider.items[0].identifier
        try await withServer(provider) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            try await peer.send(.startAccessing(identifier: identifier), id: 1)
            _ = try await peer.frame()
            var burst: [UInt8] = []
            for id: UInt32 in 1...300 {
                let isFetch = id % 3 != 0
                burst += try WireSamples.bytes(
                    isFetch
                        ? .fetchPassword(service: PasswordService.name, identifier: identifier)
                        : .item(identifier: identifier), id: id)
            }
            try await peer.send(burst)
            var answers: [UInt32: ProviderReply] = [:]
            for _ in 1...300 {
                let answer = try #require(try await peer.frame())
                answers[answer.id] = answer.reply
            }
            #expect(answers.count == 300)
            for (id, reply) in answers {
                #expect(
                    reply == (id % 3 != 0 ? .password(StandInProvider.password) : .item(provider.items[0])))
            }
        }
    }

    @Test("A client that shuts down its sending side still gets its reply before the connection ends")
    func halfClose() async throws {
        let provider = StandInProvider(count: 1)
        try await withServer(provider) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            try await peer.send(.item(identifier: provider.items[0].identifier), id: 4)
            peer.finishSending()
            #expect(try await peer.frame()?.reply == .item(provider.items[0]))
            #expect(try await peer.frame() == nil)
        }
    }

    @Test("A client that disconnects during its reply does not affect other clients")
    func goneWhileAnswered() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 2, gate: gate)
        let identifier = provider.items[1].identifier
        try await withServer(provider) { path, _ in
            do {
                let peer = try RawPeer(path: path)
                try await peer.greet()
                try await peer.send(.startAccessing(identifier: identifier))
                _ = try await peer.frame()
                try await peer.send(.read(identifier: identifier, offset: 0, length: 10))
                await gate.arrival()
            }
            gate.open()
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await client.startAccessing(identifier)
            #expect(try await client.readAll(identifier) == [7])
            await client.close()
        }
    }

    @Test("Abandoned connections are closed before they are accepted, and later clients are served")
    func goneBeforeAccepted() async throws {
        let scratch = try ScratchFolder()
        let provider = StandInProvider(count: 1)
        let path = scratch.path("provider.sock")
        let server = try ProviderServer(
            path: path, service: provider, limits: .withoutDeadlines,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        // Nothing is accepted before the server runs. Both groups are larger than the number that it closes at a time.
        var honest: [RawPeer] = []
        for count in [70, 50] {
            for _ in 0..<count { _ = try RawPeer(path: path) }
            let peer = try RawPeer(path: path)
            try await peer.send(
                .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "raw", services: [])))
            honest.append(peer)
        }
        let running = Task { try await server.run() }
        for peer in honest {
            guard case .welcome? = try await peer.frame()?.reply else {
                Issue.record("no welcome")
                continue
            }
            try await peer.send(.item(identifier: provider.items[0].identifier), id: 2)
            #expect(try await peer.frame()?.reply == .item(provider.items[0]))
        }
        let client = try await ProviderClient.connect(path: path, clientName: "test")
        let figures = try await client.statistics()
        #expect(figures.first { $0.name == "abandoned-connections" }?.value == 120)
        #expect(figures.first { $0.name == "connections" }?.value == 3)
        await client.close()
        running.cancel()
        try await running.value
    }

    @Test("A client that has not sent a complete hello is closed at the hello's deadline")
    func helloDeadline() async throws {
        try await withServer(limits: { $0.hello = .milliseconds(50) }) { path, _ in
            let silent = try RawPeer(path: path)
            #expect(try await silent.rest() == [])
            let dribbling = try RawPeer(path: path)
            try await dribbling.send([0, 0])
            #expect(try await dribbling.rest() == [])
        }
    }

    @Test("A client that does not finish a frame is closed at the frame's deadline")
    func frameDeadline() async throws {
        try await withServer(limits: { $0.frame = .milliseconds(50) }) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            try await peer.send([0, 0, 0, 9, 3])
            #expect(try await peer.rest() == [])
        }
    }

    @Test("The connection of an idle client is closed at the idle deadline")
    func idleDeadline() async throws {
        try await withServer(limits: { $0.idle = .milliseconds(50) }) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            #expect(try await peer.rest() == [])
        }
    }

    @Test("A client that does not read is closed, and does not delay other clients")
    func stalledPeer() async throws {
        let content = [UInt8](repeating: 1, count: 4 << 20)
        let provider = StandInProvider(
            items: [StandInProvider.file("large", size: nil)], contents: ["large": content])
        try await withServer(provider, limits: { $0.stalled = .milliseconds(100) }) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            try await peer.send(.startAccessing(identifier: "large"))
            _ = try await peer.frame()
            for id: UInt32 in 1...60 {
                try? await peer.send(.read(identifier: "large", offset: 0, length: 61_440), id: id)
            }
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            #expect(try await client.item("large").identifier == "large")
            #expect(try await peer.hangUp())
            await client.close()
        }
    }

    @Test("Requests of a connection that was closed before it was accepted are not read")
    func leftBeforeAccept() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let lines = RecordingLogHandler.Lines()
        let server = try ProviderServer(
            path: path, service: StandInProvider(count: 1), limits: .withoutDeadlines,
            logger: Logger(label: "test") { _ in RecordingLogHandler(lines) })
        for _ in 0..<5 {
            let peer = try RawPeer(path: path)
            try await peer.send(
                .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "", services: [])))
        }
        let half = try RawPeer(path: path)
        try await half.send(
            .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "", services: [])))
        half.finishSending()
        let running = Task { try await server.run() }
        #expect(try await half.frame()?.id == 1)
        #expect(lines.all.count { $0.hasPrefix("connection opened") } == 1)
        running.cancel()
        try await running.value
    }

    @Test("If too many bytes are queued for clients that do not read, the server closes one of them")
    func unsentInAll() async throws {
        let content = [UInt8](repeating: 1, count: 4 << 20)
        let provider = StandInProvider(
            items: [StandInProvider.file("large", size: nil)], contents: ["large": content])
        try await withServer(
            provider,
            limits: {
                $0.unsentBytes = 4 << 20
                $0.totalUnsentBytes = 1 << 20
            }
        ) { path, _ in
            let peer = try RawPeer(path: path)
            try await peer.greet()
            try await peer.send(.startAccessing(identifier: "large"))
            _ = try await peer.frame()
            for id: UInt32 in 1...60 {
                try? await peer.send(.read(identifier: "large", offset: 0, length: 61_440), id: id)
            }
            #expect(try await peer.hangUp())
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            try await client.startAccessing("large")
            #expect(try await client.readAll("large") == content)
            await client.close()
        }
    }

    @Test("Content and unsent replies of a connection that has ended no longer count")
    func endedConnection() async throws {
        let content = [UInt8](repeating: 1, count: 4 << 20)
        let provider = StandInProvider(
            items: [StandInProvider.file("large", size: nil)], contents: ["large": content])
        try await withServer(provider, limits: { $0.unsentBytes = 4 << 20 }) { path, _ in
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            func figures() async throws -> [String: UInt64] {
                Dictionary(uniqueKeysWithValues: try await client.statistics().map { ($0.name, $0.value) })
            }
            var peer: RawPeer? = try RawPeer(path: path)
            try await peer?.greet()
            try await peer?.send(.startAccessing(identifier: "large"))
            _ = try await peer?.frame()
            for id: UInt32 in 1...15 {
                try await peer?.send(.read(identifier: "large", offset: 0, length: 61_440), id: id)
            }
            let isHeld = try await waitUntil {
                let all = try await figures()
                return all["content-bytes"] == 4 << 20 && all["unsent-bytes"] != 0
            }
            #expect(isHeld)
            peer = nil
            #expect(try await waitUntil { try await figures()["connections"] == 1 })
            let left = try await figures()
            #expect(left["content-bytes"] == 0 && left["unsent-bytes"] == 0)
            await client.close()
        }
    }

    @Test("Connections that have ended make room for others")
    func endedConnections() async throws {
        try await withServer(limits: { $0.connections = 2 }) { path, _ in
            for _ in 0..<6 {
                let client = try await ProviderClient.connect(path: path, clientName: "test")
                #expect(try await client.items(in: Item.root).count == 3)
                await client.close()
            }
        }
    }

    @Test("When the connection limit is reached, a new connection replaces the oldest without a hello")
    func eviction() async throws {
        try await withServer(limits: { $0.connections = 4 }) { path, _ in
            let honest = try await ProviderClient.connect(path: path, clientName: "honest")
            let silent = try (1...3).map { _ in try RawPeer(path: path) }
            let late = try await ProviderClient.connect(path: path, clientName: "late")
            #expect(try await silent[0].rest() == [])
            #expect(try await honest.items(in: Item.root).count == 3)
            #expect(try await late.items(in: Item.root).count == 3)
            await honest.close()
            await late.close()
        }
    }

    @Test("When a process holds all connections, a new connection replaces an idle one")
    func hoarding() async throws {
        try await withServer(limits: { $0.connections = 3 }) { path, _ in
            var hoard: [RawPeer] = []
            for _ in 1...3 {
                hoard.append(try RawPeer(path: path))
                try await hoard.last?.greet()
            }
            let client = try await ProviderClient.connect(path: path, clientName: "late")
            #expect(try await client.items(in: Item.root).count == 3)
            #expect(try await hoard[0].rest() == [])
            await client.close()
        }
    }

    @Test("Another connection from a process at its limit fails with serverBusy")
    func perPeerLimit() async throws {
        try await withServer(limits: { $0.connectionsPerPeer = 1 }) { path, _ in
            let first = try RawPeer(path: path)
            try await first.greet()
            await #expect(throws: ProviderFailure(.serverBusy, "")) {
                try await ProviderClient.connect(path: path, clientName: "second")
            }
            try await first.send(.stopAccessing(identifier: "x"))
            #expect(try await first.frame()?.reply == .stopped)
        }
    }

    @Test("Content over the limit of all connections is rejected with serverBusy")
    func totalContent() async throws {
        let provider = StandInProvider(count: 10)
        let (eight, nine) = (provider.items[8].identifier, provider.items[9].identifier)
        try await withServer(provider, limits: { $0.totalSnapshotBytes = 16 }) { path, _ in
            let first = try await ProviderClient.connect(path: path, clientName: "first")
            let second = try await ProviderClient.connect(path: path, clientName: "second")
            try await first.startAccessing(nine)
            for identifier in [eight, nine] { try await second.startAccessing(identifier) }
            #expect(try await first.readAll(nine).count == 9)
            // Content that both hold is in memory once.
            #expect(try await second.readAll(nine).count == 9)
            await #expect(throws: ProviderFailure(.serverBusy, "")) {
                try await second.readAll(eight)
            }
            try await first.stopAccessing(nine)
            try await second.stopAccessing(nine)
            #expect(try await second.readAll(eight).count == 8)
            await first.close()
            await second.close()
        }
    }
}

/// A process of another user that connects and sends a hello. It is a real process, because the kernel reports its user.
enum OtherUserProcess {
    static var isPossible: Bool {
        geteuid() == 0
            && [setpriv, perl].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The processes that were started. Foundation never releases the resources of a process; here they stay reachable,
    /// so that the address sanitizer reports no leak.
    private static let kept = Mutex<[Process]>([])

    private static let setpriv = "/usr/bin/setpriv"
    private static let perl = "/usr/bin/perl"

    /// Returns `refused`, or the number of bytes received. At most one byte is read.
    static func speak(to path: String, as user: uid_t) async throws -> String {
        let hello = try WireSamples.bytes(
            .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "", services: []))
        )
        .map { String(format: "%02x", $0) }.joined()
        let script = """
            use IO::Socket::UNIX; $SIG{PIPE} = 'IGNORE';
            my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { print "refused"; exit };
            syswrite($s, pack("H*", $ARGV[1])); my $n = sysread($s, my $b, 1) || 0;
            print "connected, $n bytes";
            """
        let process = Process()
        kept.withLock { $0.append(process) }
        process.executableURL = URL(filePath: setpriv)
        process.arguments = [
            "--reuid=\(user)", "--clear-groups", "--inh-caps=-all", perl, "-e", script, path, hello,
        ]
        let output = Pipe()
        process.standardOutput = output
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        // The pipe buffers the one short line until it is read here.
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
