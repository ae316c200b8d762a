import LocalSockets
import Logging
import LoopbackHTTP
import NIOCore
import NIOPosix
import SecretMemory
import TestSupport
import Testing

@Suite("The HTTP client on the loopback address", .timeLimit(.minutes(10)))
struct LoopbackClientTests {
    private let request = HTTPRequest(method: .get, path: "/")

    /// Runs a server while `body` runs.
    private func withServer(
        requestBytes: Int = 16_384, answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
        _ body: (LoopbackAddress) async throws -> Void
    ) async throws {
        var limits = LoopbackServer.Limits()
        limits.requestBytes = requestBytes
        limits.time = .seconds(600)
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, answer: answer)
        let result = await Result { () async throws in try await body(server.address) }
        await server.close()
        try result.get()
    }

    @Test("The server receives the request unchanged, and the client receives the response unchanged")
    func roundTrip() async throws {
        let sent = HTTPRequest(
            method: .post, path: "/a%20b", authorization: SecretBytes(utf8: "Bearer x"), body: [1, 2])
        try await withServer(answer: { request in
            let parts = HTTPRequest(
                method: request.method, path: request.path, authorization: request.authorization,
                body: request.body)
            return HTTPResponse(
                status: parts == sent ? 200 : 400, contentType: "x/y", body: [3], mayBeStored: false)
        }) { address in
            let response = try await LoopbackClient.send(sent, to: address)
            #expect(response == HTTPResponse(contentType: "x/y", body: [3], mayBeStored: false))
        }
    }

    @Test("An address without a listening program fails with the code notRunning")
    func notRunning() async throws {
        // The port is reserved, so that no server of another test can listen on it by chance.
        let address = try LoopbackAddress("127.0.0.1:1")
        await #expect(throws: SocketError(.notRunning, "")) {
            try await LoopbackClient.send(request, to: address)
        }
    }

    @Test("A response above the limit fails with the code contentTooLarge")
    func tooLarge() async throws {
        var limits = LoopbackClient.Limits()
        limits.responseBytes = 10
        try await withServer(answer: { _ in HTTPResponse(contentType: "", body: Array(0..<11)) }) { address in
            await #expect(throws: SocketError(.contentTooLarge, "")) {
                try await LoopbackClient.send(request, to: address, limits: limits)
            }
        }
    }

    @Test("A server that does not answer fails with the code timedOut")
    func timeout() async throws {
        let gate = Gate()
        var limits = LoopbackClient.Limits()
        limits.time = .milliseconds(50)
        try await withServer(answer: { _ in
            await gate.pass()
            return .text(200, "")
        }) { address in
            await #expect(throws: SocketError(.timedOut, "")) {
                try await LoopbackClient.send(request, to: address, limits: limits)
            }
            gate.open()
        }
    }

    @Test("A server that closes without an answer fails with the code closed")
    func closed() async throws {
        let large = HTTPRequest(method: .post, path: "/", body: Array(repeating: 0, count: 2_000))
        try await withServer(requestBytes: 1_000, answer: { _ in .text(200, "") }) { address in
            await #expect(throws: SocketError(.closed, "")) {
                try await LoopbackClient.send(large, to: address)
            }
        }
    }

    @Test("An answer that is not HTTP fails with the code malformedReply")
    func malformed() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Babbler())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = try LoopbackAddress("127.0.0.1:\(try #require(server.localAddress?.port))")
        await #expect(throws: SocketError(.malformedReply, "")) {
            try await LoopbackClient.send(request, to: address)
        }
        try await server.close()
    }
}

/// A channel handler that answers every request with bytes that are not HTTP.
private final class Babbler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "no such thing\r\n\r\n")), promise: nil)
    }
}
