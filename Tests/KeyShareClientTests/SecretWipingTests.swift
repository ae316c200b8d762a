import KeyShareProtocol
import KeyShareWire
import KeySharing
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
}
