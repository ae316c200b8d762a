import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import Logging
import NIOCore
import NIOEmbedded
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareServer

@Suite("Passwords in the buffers of the server", .timeLimit(.minutes(10)))
struct SecretWipingTests {
    /// Whether a buffer is readable and contains only zeros.
    private func isWiped(_ buffer: ByteBuffer) -> Bool {
        buffer.readableBytes > 0 && buffer.readableBytesView.allSatisfy { $0 == 0 }
    }

    @Test("A reply buffer that is reallocated overwrites its old memory if it contained a password")
    func growth() throws {
        var replies = ReplyBuffer()
        try replies.append(.password(StandInProvider.password), requestID: 1)
        // It shares the memory of the replies, so it reveals changes to that memory.
        let old = replies.bytes
        #expect(!isWiped(old))
        replies.append(ByteBuffer(repeating: 7, count: 10_000))
        #expect(isWiped(old))
        var bytes = replies.bytes
        let frame = try #require(try Frame.next(from: &bytes, limit: Wire.replyLimit))
        #expect(try ProviderReply(frame) == .password(StandInProvider.password))
        #expect(bytes.readableBytes == 10_000)
    }

    @Test("A second password that needs more memory does not leave the first one in the old memory")
    func secondPassword() throws {
        var replies = ReplyBuffer()
        try replies.append(.password(StandInProvider.password), requestID: 1)
        let old = replies.bytes
        let long = SecretBytes([UInt8](repeating: 7, count: 10_000))
        try replies.append(.used(long), requestID: 2)
        #expect(isWiped(old))
        var bytes = replies.bytes
        for expected in [ProviderReply.password(StandInProvider.password), .used(long)] {
            let frame = try #require(try Frame.next(from: &bytes, limit: Wire.replyLimit))
            #expect(try ProviderReply(frame) == expected)
        }
    }

    @Test("Replies with a password that were never written are overwritten when the connection ends")
    func detached() throws {
        let writer = ReplyWriter()
        try writer.replies.append(.password(StandInProvider.password), requestID: 1)
        let unwritten = writer.replies.bytes
        #expect(!isWiped(unwritten))
        writer.detach()
        #expect(isWiped(unwritten))
    }

    @Test("A long reply after a password does not leave a copy of the password in the buffer's old memory")
    func followingReply() throws {
        var replies = ReplyBuffer()
        try replies.append(.password(StandInProvider.password), requestID: 1)
        let old = replies.bytes
        try replies.append(.services([String(repeating: "x", count: 10_000)]), requestID: 2)
        #expect(isWiped(old))
        var bytes = replies.bytes
        _ = try Frame.next(from: &bytes, limit: Wire.replyLimit)
        #expect(try Frame.next(from: &bytes, limit: Wire.replyLimit)?.requestID == 2)
    }

    @Test("After a connection writes a reply, it wipes the reply only if it contains a password")
    func write() async throws {
        let provider = StandInProvider(count: 1)
        let identifier = provider.items[0].identifier
        let loop = NIOAsyncTestingEventLoop()
        let channel = NIOAsyncTestingChannel(loop: loop)
        let executors = CallExecutors()
        let emptied = loop.makePromise(of: Void.self)
        try await loop.executeInContext {
            let registry = ConnectionRegistry(
                service: provider, limits: .withoutDeadlines, serverName: "test",
                services: [PasswordService.name], fault: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, emptied: emptied,
                abandoned: AbandonedConnectionCount(), loop: ClosableEventLoop(loop), executors: executors,
                eventLoop: loop)
            let peer = PeerIdentity(userID: 0, groupID: 0, processID: 1)
            let handler = try #require(registry.admit(peer))
            try channel.pipeline.syncOperations.addHandler(handler)
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/nowhere")).get()
        /// Sends a request, and returns the reply's memory as the connection left it.
        func exchange(_ request: ProviderRequest) async throws -> ByteBuffer {
            try await channel.writeInbound(ByteBuffer(bytes: WireSamples.bytes(request, id: 1)))
            let reply = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            // The write has ended when the loop runs the next task.
            try await loop.executeInContext {}
            return reply
        }
        let hello = Hello(minimumVersion: 1, maximumVersion: 1, clientName: "test", services: [])
        #expect(try await !isWiped(exchange(.hello(hello))))
        #expect(try await !isWiped(exchange(.startAccessing(identifier: identifier))))
        let fetch = ProviderRequest.fetchPassword(service: PasswordService.name, identifier: identifier)
        #expect(try await isWiped(exchange(fetch)))
        try await channel.close().get()
        await executors.stop(patience: .seconds(60))
        emptied.succeed()
    }
}
