import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import KeyShareClient

@Suite("Passwords in the client's buffers", .timeLimit(.minutes(10)))
struct SecretWipingTests {
    @Test("A client overwrites the bytes of a password in its receive buffer")
    func receive() throws {
        let channel = EmbeddedChannel()
        let handler = ClientHandler { _ in true }
        try channel.pipeline.syncOperations.addHandler(handler)
        let promise = channel.eventLoop.makePromise(of: ProviderReply.self)
        handler.send(
            .fetchPassword(service: PasswordService.name, identifier: "a"), within: .seconds(60), promise)
        var request = try #require(try channel.readOutbound(as: ByteBuffer.self))
        let id = try #require(try Frame.next(from: &request, limit: Wire.requestLimit)).requestID
        // This buffer shares its memory with the buffer that the client reads from.
        let received = ByteBuffer(
            bytes: try WireSamples.bytes(.password(StandInProvider.password), id: id))
        let secret = "password".utf8
        #expect(received.readableBytesView.suffix(secret.count).elementsEqual(secret))
        try channel.writeInbound(received)
        #expect(try promise.futureResult.wait() == .password(StandInProvider.password))
        #expect(received.readableBytesView.dropFirst(Wire.headerSize).allSatisfy { $0 == 0 })
    }

    @Test("A client sends nothing after a malformed reply, and later requests fail with the first reason")
    func sendAfterEnd() throws {
        let channel = EmbeddedChannel()
        let handler = ClientHandler { _ in true }
        try channel.pipeline.syncOperations.addHandler(handler)
        // A frame whose length is shorter than its header.
        try channel.writeInbound(ByteBuffer(bytes: [0, 0, 0, 1, 0]))
        let promise = channel.eventLoop.makePromise(of: ProviderReply.self)
        handler.send(
            .fetchPassword(service: PasswordService.name, identifier: "a"), within: .seconds(60), promise)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        let error = #expect(throws: SocketError.self) { try promise.futureResult.wait() }
        #expect(error?.code == .malformedReply)
    }
}
