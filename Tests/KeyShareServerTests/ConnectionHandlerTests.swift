import Foundation
import Glibc
import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Connections on a testing loop", .timeLimit(.minutes(10)))
struct ConnectionHandlerTests {
    private let loop = NIOAsyncTestingEventLoop()
    private let executors = CallExecutors()

    /// Counts the reads that a connection requests from its channel.
    private final class ReadCounter: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = ByteBuffer
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }

        func read(context: ChannelHandlerContext) {
            count.withLock { $0 += 1 }
            context.read()
        }
    }

    /// Calls `body` with a registry on the loop.
    private func withRegistry(
        _ provider: StandInProvider, fault: ConnectionFault? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        limits adjust: (inout ProviderServer.Limits) -> Void = { _ in },
        _ body: (NIOLoopBound<ConnectionRegistry>) async throws -> Void
    ) async throws {
        var limits = ProviderServer.Limits.withoutDeadlines
        adjust(&limits)
        let emptied = loop.makePromise(of: Void.self)
        let registry = try await loop.executeInContext { [loop, executors, limits] in
            NIOLoopBound(
                ConnectionRegistry(
                    service: provider, limits: limits, serverName: "test", services: [PasswordService.name],
                    fault: fault, logger: logger, emptied: emptied, abandoned: AbandonedConnectionCount(),
                    loop: ClosableEventLoop(loop), executors: executors, eventLoop: loop),
                eventLoop: loop)
        }
        let result = await Result { () async throws in try await body(registry) }
        await executors.stop(patience: .seconds(60))
        emptied.succeed()
        try result.get()
    }

    /// Opens a connection and completes its hello.
    private func connect(
        _ registry: NIOLoopBound<ConnectionRegistry>, reads: ReadCounter = ReadCounter()
    ) async throws -> NIOAsyncTestingChannel {
        let channel = NIOAsyncTestingChannel(loop: loop)
        try await loop.executeInContext {
            let peer = PeerIdentity(userID: 0, groupID: 0, processID: 1)
            let handler = try #require(registry.value.admit(peer))
            try channel.pipeline.syncOperations.addHandlers(reads, handler)
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).get()
        let hello = Hello(minimumVersion: 1, maximumVersion: 1, clientName: "test", services: [])
        try await send([.hello(hello)], to: channel)
        _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
        return channel
    }

    private func send(_ requests: [ProviderRequest], to channel: NIOAsyncTestingChannel) async throws {
        let bytes = try requests.enumerated().flatMap { number, request in
            try WireSamples.bytes(request, id: UInt32(number + 1))
        }
        try await channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    /// Connects a client whose request to read an item is outstanding.
    private func connect(
        _ registry: NIOLoopBound<ConnectionRegistry>, reading identifier: String
    ) async throws -> NIOAsyncTestingChannel {
        let channel = try await connect(registry)
        try await send([.startAccessing(identifier: identifier)], to: channel)
        _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
        try await send([.read(identifier: identifier, offset: 0, length: 1)], to: channel)
        return channel
    }

    @Test("Nothing is read from a client whose requests are outstanding, until one is answered")
    func backPressure() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 1, gate: gate)
        let identifier = provider.items[0].identifier
        try await withRegistry(provider, limits: { $0.outstandingRequests = 1 }) { registry in
            let reads = ReadCounter()
            let channel = try await connect(registry, reads: reads)
            try await send([.startAccessing(identifier: identifier)], to: channel)
            _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            let before = reads.value
            channel.read()
            try await loop.executeInContext {}
            #expect(reads.value == before + 1)
            try await send([.read(identifier: identifier, offset: 0, length: 1)], to: channel)
            channel.read()
            try await loop.executeInContext {}
            #expect(reads.value == before + 1)
            gate.open()
            _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            try await loop.executeInContext {}
            #expect(reads.value == before + 2)
            try await channel.close().get()
        }
    }

    @Test("After a reply that a fault cuts, no further reply is sent")
    func cut() async throws {
        try await withRegistry(StandInProvider(count: 1), fault: .cut(.stopped)) { registry in
            let channel = try await connect(registry)
            let request = ProviderRequest.stopAccessing(identifier: "x")
            try await send([request, request, request], to: channel)
            var bytes = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            try await channel.closeFuture.get()
            while var more = try await channel.readOutbound(as: ByteBuffer.self) { bytes.writeBuffer(&more) }
            #expect(bytes.readableBytes == Wire.headerSize / 2)
        }
    }

    @Test("To free a descriptor, the server closes an idle connection, and none that is being served")
    func eviction() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 1, gate: gate)
        try await withRegistry(provider) { registry in
            func makeRoom() async throws -> Bool {
                try await loop.executeInContext { [loop] in
                    ConnectionOpener(registry.value, on: loop).makeRoom(EMFILE)
                }
            }
            #expect(try await !makeRoom())
            let channel = try await connect(registry, reading: provider.items[0].identifier)
            #expect(try await !makeRoom())
            gate.open()
            _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            #expect(try await makeRoom())
            try await channel.closeFuture.get()
            #expect(try await !makeRoom())
        }
    }

    @Test("A draining server answers the outstanding requests, and closes new connections without a reply")
    func draining() async throws {
        let gate = Gate()
        let provider = StandInProvider(count: 1, gate: gate)
        try await withRegistry(provider) { registry in
            let channel = try await connect(registry, reading: provider.items[0].identifier)
            var ends: [CInt] = [-1, -1]
            let result = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
            try #require(result == 0)
            let (opened, client) = (ends[0], ends[1])
            defer { Glibc.close(client) }
            try await loop.executeInContext { [loop] in
                registry.value.drain()
                let peer = PeerIdentity(userID: 0, groupID: 0, processID: 2)
                #expect(registry.value.admit(peer) == nil)
                ConnectionOpener(registry.value, on: loop).openConnection(opened, peer)
            }
            var byte: UInt8 = 0
            let count = unsafe recv(client, &byte, 1, CInt(MSG_DONTWAIT))
            #expect(count == 0, "the connection is open, or a reply was sent")
            gate.open()
            var bytes = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            let frame = try #require(try Frame.next(from: &bytes, limit: Wire.replyLimit))
            #expect(try ProviderReply(frame) == .chunk(ContentChunk(total: 0, bytes: [])))
            try await channel.closeFuture.get()
        }
    }

    @Test("An error of the channel closes the connection")
    func failedChannel() async throws {
        try await withRegistry(StandInProvider(count: 1)) { registry in
            let channel = try await connect(registry)
            try await loop.executeInContext { channel.pipeline.fireErrorCaught(ChannelError.inputClosed) }
            try await channel.closeFuture.get()
        }
    }

    @Test("If too much is unsent, the process with the most unsent bytes loses its slowest connection")
    func unsent() async throws {
        let lines = RecordingLogHandler.Lines()
        try await withRegistry(
            StandInProvider(count: 1), logger: Logger(label: "test") { _ in RecordingLogHandler(lines) },
            limits: { $0.totalUnsentBytes = 175 }
        ) { registry in
            try await loop.executeInContext {
                // Connection 1 has the most unsent bytes, and process 2 has more in total.
                registry.value.recordUnsent(70, of: 1, 1)
                registry.value.recordUnsent(60, of: 2, 2)
                registry.value.recordUnsent(45, of: 3, 2)
            }
            #expect(lines.all.isEmpty)
            try await loop.executeInContext { registry.value.recordUnsent(1, of: 3, 2) }
            #expect(lines.all.count == 1 && lines.all.first?.contains("connection=2") == true)
            try await loop.executeInContext {
                for (bytes, connection, process) in [(70, 1, 1), (60, 2, 2), (46, 3, 2)] {
                    registry.value.recordUnsent(-bytes, of: connection, Int32(process))
                }
                #expect(registry.value.figures.first { $0.name == "unsent-bytes" }?.value == 0)
            }
        }
    }
}
