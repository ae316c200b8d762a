import KeyShareClient
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("A client of a provider that breaks the protocol")
struct LyingProviderTests {
    /// The bytes that the provider answers to a request after the hello.
    typealias Answer = @Sendable (_ request: ProviderRequest, _ id: UInt32) throws -> [UInt8]

    private static func withClient<Value>(
        answering answer: @escaping Answer, _ body: (ProviderClient) async throws -> Value
    ) async throws -> Value {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Liar(answer))
                }
            }.bind(unixDomainSocketPath: path).get()
        let client = try await ProviderClient.connect(path: path, clientName: "test")
        let result = await Result { () async throws in try await body(client) }
        await client.close()
        try await server.close()
        return try result.get()
    }

    @Test("A client accepts content only in the pieces that it asked for", arguments: [0, 1, 8, 11, 100])
    func pieces(size: Int) async throws {
        let error = try await Self.withClient { request, id in
            guard case .read = request else { return [] }
            let chunk = ContentChunk(total: 10, bytes: [UInt8](repeating: 7, count: size)[...])
            return try WireSamples.bytes(.chunk(chunk), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.readAll("a") }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("A client refuses content over its limit")
    func size() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.chunk(ContentChunk(total: 1 << 40, bytes: [1])), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.readAll("a") }
        }
        #expect(error?.code == .contentTooLarge)
    }

    @Test("A client stops at a page that is empty and not the last")
    func cursor() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.page(ItemPage(items: [], nextCursor: "again")), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.items(in: Item.root) }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("A client refuses a reply of another type, a reply to no request, and bytes that are no reply")
    func otherAnswers() async throws {
        let answers: [Answer] = [
            { _, id in try WireSamples.bytes(.stopped, id: id) },
            { _, id in try WireSamples.bytes(.services(["x"]), id: id + 1) },
            { _, id in WireSamples.frame(type: 0x55, id: id) }, { _, _ in [0xFF, 0xFF, 0xFF, 0xFF, 0] },
        ]
        for answer in answers {
            let error = try await Self.withClient(answering: answer) { client in
                await #expect(throws: SocketError.self) { try await client.services(for: "a") }
            }
            #expect(error?.code == .malformedReply)
        }
    }
}

/// A channel handler that answers the hello as it should, and every other request as a test tells it to.
private final class Liar: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: LyingProviderTests.Answer
    private var received = ByteBuffer()

    init(_ answer: @escaping LyingProviderTests.Answer) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        do {
            while let frame = try Frame.next(from: &received, limit: Wire.requestLimit) {
                let request = try ProviderRequest(frame)
                let bytes: [UInt8]
                if case .hello = request {
                    let welcome = Welcome(version: 1, serverName: "liar", services: [])
                    bytes = try WireSamples.bytes(.welcome(welcome), id: frame.requestID)
                } else {
                    bytes = try answer(request, frame.requestID)
                }
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
            }
        } catch {
            context.close(promise: nil)
        }
    }
}
