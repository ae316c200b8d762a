import KeyShareClient
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("A client whose provider does not keep to the protocol")
struct LyingProviderTests {
    /// What the provider answers to whatever comes behind the hello.
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

    @Test("takes content in the pieces it asked for and in no others", arguments: [0, 1, 8, 11, 100])
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

    @Test("takes no content that is larger than it may be")
    func size() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.chunk(ContentChunk(total: 1 << 40, bytes: [1])), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.readAll("a") }
        }
        #expect(error?.code == .contentTooLarge)
    }

    @Test("does not ask on where a cursor leads nowhere")
    func cursor() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.page(ItemPage(items: [], nextCursor: "again")), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.items(in: Item.root) }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("takes no answer to another question, and nothing that is no answer")
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

/// Says hello as it should, and then whatever it is told to.
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
