import KeyShareClient
import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOPosix
import PersistentToken
import Synchronization
import TestSupport
import Testing

@Suite("A client that receives a valid reply of the wrong type", .timeLimit(.minutes(10)))
struct MismatchedReplyTests {
    /// A call of the client, with the type of the request that receives a reply of the wrong type.
    struct Exchange: Sendable, CustomTestStringConvertible {
        let type: Wire.MessageType
        let call: @Sendable (ProviderClient) async throws -> Void

        init(_ type: Wire.MessageType, _ call: @escaping @Sendable (ProviderClient) async throws -> Void) {
            self.type = type
            self.call = call
        }

        var testDescription: String { "\(type)" }
    }

    private static let shortUse = TokenUse(objectID: "a", .rsaSignatureRaw, data: [1])
    /// A key use whose message is sent in two parts.
    private static let longUse = TokenUse(
        objectID: "a", .rsaSignaturePKCS1v15(.message, .sha256),
        data: [UInt8](repeating: 7, count: Wire.useDataLimit + 1))

    static let exchanges: [Exchange] = [
        Exchange(.enumerate) { _ = try await $0.page(of: Item.root) },
        Exchange(.item) { _ = try await $0.item("a") },
        Exchange(.services) { _ = try await $0.services(for: "a") },
        Exchange(.startAccessing) { _ = try await $0.startAccessing("a") },
        Exchange(.read) { _ = try await $0.read("a", at: 0) },
        Exchange(.fetchPassword) { _ = try await $0.fetchPassword(for: "a") },
        Exchange(.stopAccessing) { try await $0.stopAccessing("a") },
        Exchange(.present) { _ = try await $0.present([]) },
        Exchange(.choose) { _ = try await $0.choose("a", types: []) },
        Exchange(.describe) { _ = try await $0.identityFacts() },
        Exchange(.identities) { _ = try await $0.identities(in: Item.root) },
        Exchange(.statistics) { _ = try await $0.statistics() },
        Exchange(.events) { _ = try await $0.events(after: nil) },
        Exchange(.tokens) { _ = try await $0.tokens() },
        Exchange(.tokenStatus) { _ = try await $0.tokenStatus() },
        Exchange(.use) { _ = try await $0.use(shortUse) },
        Exchange(.use) { _ = try $0.useAndWait(shortUse) },
        Exchange(.useBegin) { _ = try await $0.use(longUse) },
        Exchange(.useUpdate) { _ = try await $0.use(longUse) },
        Exchange(.useEnd) { _ = try await $0.use(longUse) },
        Exchange(.aliasQuery) { _ = try await $0.aliases(app: "a", columns: []) },
        Exchange(.aliasChoose) { _ = try await $0.chooseAlias(AliasChoiceRequest(app: "a")) },
    ]

    @Test(
        "A reply of the wrong type fails with the code malformedReply",
        arguments: MismatchedReplyTests.exchanges)
    func wrongType(exchange: Exchange) async throws {
        let last = Mutex<Wire.MessageType?>(nil)
        let answer: LyingProviderTests.Answer = { request, id in
            last.withLock { $0 = request.messageType }
            if request.messageType == exchange.type {
                let wrong: ProviderReply = exchange.type == .stopAccessing ? .services(["x"]) : .stopped
                return try WireSamples.bytes(wrong, id: id)
            }
            // The earlier steps of a use in parts succeed.
            switch request {
            case .useBegin: return try WireSamples.bytes(.useBegun(handle: 1), id: id)
            case .useUpdate(_, let data):
                let isFirst = data.count == Wire.useDataLimit
                let total = UInt64(isFirst ? data.count : Wire.useDataLimit + data.count)
                return try WireSamples.bytes(.useUpdated(total: total), id: id)
            default:
                Issue.record("the client sent \(request)")
                return []
            }
        }
        let error = try await LyingProviderTests.withClient(
            answering: answer, features: Wire.Feature.all
        ) { client in
            await #expect(throws: SocketError.self) { try await exchange.call(client) }
        }
        #expect(error?.code == .malformedReply)
        // The client sends nothing after the wrong reply.
        #expect(last.withLock(\.self) == exchange.type)
    }

    @Test("A reply of the wrong type to the hello fails with the code malformedReply")
    func wrongGreeting() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Liar(greeting: .stopped) { _, _ in [] })
                }
            }.bind(unixDomainSocketPath: path).get()
        await #expect(throws: SocketError(.malformedReply, "")) {
            try await ProviderClient.connect(path: path, clientName: "test")
        }
        try await server.close()
    }
}
