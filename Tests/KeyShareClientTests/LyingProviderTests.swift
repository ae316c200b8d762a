import Glibc
import KeyShareClient
import KeyShareProtocol
import KeyShareWire
import KeySharing
import LocalSockets
import NIOCore
import NIOPosix
import PersistentToken
import SecretMemory
import Synchronization
import TestSupport
import Testing

@Suite("A client of a provider that breaks the protocol", .timeLimit(.minutes(10)))
struct LyingProviderTests {
    /// Returns the provider's reply to a request after the hello.
    typealias Answer = @Sendable (_ request: ProviderRequest, _ id: UInt32) throws -> [UInt8]

    /// Connects a client to a provider with these features and answers, and calls `body` with it.
    static func withClient<Value>(
        answering answer: @escaping Answer,
        limits: ProviderClient.Limits = ProviderClient.Limits(), features: [String] = [],
        _ body: (ProviderClient) async throws -> Value
    ) async throws -> Value {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Liar(features, answer))
                }
            }.bind(unixDomainSocketPath: path).get()
        let client = try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
        let result = await Result { () async throws in try await body(client) }
        await client.close()
        try await server.close()
        return try result.get()
    }

    @Test("A client accepts content only in chunks of the requested length", arguments: [0, 1, 8, 11, 100])
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

    @Test("A client rejects content over its limit")
    func size() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.chunk(ContentChunk(total: 1 << 40, bytes: [1])), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.readAll("a") }
        }
        #expect(error?.code == .contentTooLarge)
    }

    @Test("A client stops at an empty page that is not marked as the last")
    func cursor() async throws {
        let error = try await Self.withClient { _, id in
            // Cursors that differ, so that only the emptiness shows that the list may be endless.
            let cursor = "\(UInt64.random(in: 0 ... .max))"
            return try WireSamples.bytes(.page(ItemPage(items: [], nextCursor: cursor)), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.items(in: Item.root) }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("A client stops at a page with the cursor of the previous page")
    func sameCursor() async throws {
        let error = try await Self.withClient { _, id in
            try WireSamples.bytes(.page(ItemPage(items: WireSamples.items, nextCursor: "same")), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.items(in: Item.root) }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("A client limits the entries, the bytes and the time of an endless list")
    func endlessPages() async throws {
        let pages: Answer = { _, id in
            let page = ItemPage(items: WireSamples.items, nextCursor: "\(UInt64.random(in: 0 ... .max))")
            return try WireSamples.bytes(.page(page), id: id)
        }
        for (entries, bytes, whole, code): (Int, Int, Duration, SocketError.Code) in [
            (9, .max, .seconds(600), .contentTooLarge), (.max, 1_000, .seconds(600), .contentTooLarge),
            (.max, .max, .milliseconds(20), .timedOut),
        ] {
            var limits = ProviderClient.Limits()
            limits.listedEntries = entries
            limits.listedBytes = bytes
            limits.whole = whole
            let error = try await Self.withClient(answering: pages, limits: limits) { client in
                await #expect(throws: SocketError.self) { try await client.items(in: Item.root) }
            }
            #expect(error?.code == code)
        }
    }

    @Test("A client limits the number of folders, and the entries and bytes of all folders together")
    func manyFolders() async throws {
        // The root has eight folders, and each folder has eight files: 72 entries with 1,176 bytes.
        let lists: Answer = { request, id in
            guard case .enumerate(let container, _, _) = request else { return [] }
            let items = (0..<8).map { number in
                Item(
                    identifier: "\(number)", filename: "f", kind: container == Item.root ? .folder : .pkcs12,
                    contentType: "public.folder", parent: container, size: nil,
                    created: WireSamples.items[0].created)
            }
            return try WireSamples.bytes(.page(ItemPage(items: items, nextCursor: nil)), id: id)
        }
        for (folders, entries, bytes, count): (Int, Int, Int, Int?) in [
            (8, 8, 131, 72), (7, 8, 131, nil), (8, 7, 131, nil), (8, 8, 130, nil),
        ] {
            var limits = ProviderClient.Limits()
            (limits.folders, limits.allLists) = (folders, 9)
            (limits.listedEntries, limits.listedBytes) = (entries, bytes)
            let result = await Result { () async throws in
                try await Self.withClient(answering: lists, limits: limits) { try await $0.allItems().count }
            }
            if let count {
                #expect(try result.get() == count)
            } else {
                #expect(throws: SocketError(.contentTooLarge, "")) { try result.get() }
            }
        }
    }

    @Test("A client stops reading content that is not complete by the deadline")
    func slowChunks() async throws {
        var limits = ProviderClient.Limits()
        limits.whole = .zero
        let error = try await Self.withClient(
            answering: { _, id in
                let bytes = [UInt8](repeating: 7, count: Wire.chunkLimit)
                return try WireSamples.bytes(.chunk(ContentChunk(total: 1 << 20, bytes: bytes[...])), id: id)
            }, limits: limits
        ) { client in
            await #expect(throws: SocketError.self) { try await client.readAll("a") }
        }
        #expect(error?.code == .timedOut)
    }

    @Test("A client rejects an item if its identifier has more than 256 bytes")
    func longIdentifier() async throws {
        let error = try await Self.withClient { _, id in
            var item = WireSamples.items[0]
            item.identifier = String(repeating: "A", count: 257)
            return try WireSamples.bytes(.item(item), id: id)
        } _: { client in
            await #expect(throws: SocketError.self) { try await client.item("a") }
        }
        #expect(error?.code == .malformedReply)
    }

    @Test("A client sends no request whose feature the provider did not announce")
    func missingFeatures() async throws {
        try await Self.withClient { request, id in
            Issue.record("the client sent \(request)")
            return try WireSamples.bytes(.failure(ProviderFailure(.malformed, "unexpected")), id: id)
        } _: { client in
            let missing = ProviderFailure(.unknownRequest, "")
            await #expect(throws: missing) { try await client.statistics() }
            await #expect(throws: missing) { try await client.tokenStatus() }
            await #expect(throws: missing) { try await client.events(after: nil) }
            await #expect(throws: missing) { try await client.aliases(app: "a", columns: []) }
            await #expect(throws: missing) {
                try await client.use(TokenUse(objectID: "a", .rsaSignatureRaw, data: [1]))
            }
        }
    }

    @Test(
        "Data that exceed the limit of a request are refused if the algorithm does not accept parts of a message"
    )
    func longData() async throws {
        try await Self.withClient(
            answering: { request, id in
                guard case .use(let use) = request else {
                    Issue.record("the client sent \(request)")
                    return []
                }
                return try WireSamples.bytes(.used(SecretBytes([UInt8(use.data.count & 0xFF)])), id: id)
            }, features: [Wire.Feature.token]
        ) { client in
            var use = TokenUse(
                objectID: "a", .rsaSignatureRaw, data: [UInt8](repeating: 7, count: Wire.useDataLimit))
            let result = try await client.use(use)
            #expect(result == SecretBytes([UInt8(Wire.useDataLimit & 0xFF)]))
            use.data.append(7)
            let refusal = TokenError(.badParameter, "", obstacle: .wrongLength)
            let longer = use
            await #expect(throws: refusal) { try await client.use(longer) }
        }
    }

    @Test("A client retries until its deadline while the queue of the provider's socket is full")
    func fullQueue() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let listener = try Self.listen(at: path)
        defer { Glibc.close(listener) }
        // A queue of length 0 holds one connection (listen(2)).
        let waiting = try RawPeer(path: path)
        var short = ProviderClient.Limits()
        short.hello = .milliseconds(100)
        let limits = short
        let error = await #expect(throws: SocketError.self) {
            try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
        }
        #expect(error?.code == .timedOut)
        let connecting = Task { try await ProviderClient.connect(path: path, clientName: "test") }
        Glibc.close(accept(listener, nil, nil))
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Liar { _, _ in [] })
                }
            }.withBoundSocket(dup(listener)).get()
        try await connecting.value.close()
        try await server.close()
        withExtendedLifetime(waiting) {}
    }

    @Test("A client stops waiting for room in the queue of the provider's socket if its task is cancelled")
    func cancelledConnection() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let listener = try Self.listen(at: path)
        defer { Glibc.close(listener) }
        let waiting = try RawPeer(path: path)
        // Without the cancellation, the client would wait longer than the time limit of this suite.
        var long = ProviderClient.Limits()
        long.hello = .seconds(1_200)
        let limits = long
        let connecting = Task {
            try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
        }
        connecting.cancel()
        await #expect(throws: SocketError(.timedOut, "")) { try await connecting.value }
        withExtendedLifetime(waiting) {}
    }

    /// Creates a listening socket with the shortest possible queue.
    private static func listen(at path: String) throws -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let result = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0 && Glibc.listen(descriptor, 0) == 0)
        return descriptor
    }

    @Test("A client rejects a reply of the wrong type, a reply to no request, and bytes that are not a reply")
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

    @Test("A list that changes while it is read is read again, at most five times")
    func changingLists() async throws {
        for (changes, count): (UInt64, Int?) in [(1, 2), (9, nil)] {
            let turns = Mutex<UInt64>(0)
            // Each list has two pages. The change count differs in the second page of a list that changes.
            let answer: Answer = { request, id in
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns
                }
                let change = min(turn, 2 * changes + 1)
                let next = turn.isMultiple(of: 2) ? nil : "next"
                if case .tokens = request {
                    let page = TokenPage(
                        entries: [WireSamples.tokens[0]], changeCount: change, nextCursor: next)
                    return try WireSamples.bytes(.tokens(page), id: id)
                }
                let page = AliasPage(changeCount: change, columns: ["a"], rows: [["x"]], nextCursor: next)
                return try WireSamples.bytes(.aliases(page), id: id)
            }
            try await Self.withClient(
                answering: answer, features: [Wire.Feature.token, Wire.Feature.aliases]
            ) { client in
                for isAboutTokens in [true, false] {
                    turns.withLock { $0 = 0 }
                    let found =
                        try? await isAboutTokens
                        ? client.tokens().count : client.aliases(app: "a", columns: []).rows.count
                    #expect(found == count)
                }
            }
        }
    }

    @Test("A signature over parts fails if the provider did not receive every byte")
    func lostPart() async throws {
        for missing in [0, 1] {
            let counted = Mutex<UInt64>(0)
            let answer: Answer = { request, id in
                switch request {
                case .useBegin: return try WireSamples.bytes(.useBegun(handle: 1), id: id)
                case .useUpdate(_, let data):
                    let total = counted.withLock { counted in
                        counted += UInt64(data.count - missing)
                        return counted
                    }
                    return try WireSamples.bytes(.useUpdated(total: total), id: id)
                default: return try WireSamples.bytes(.useEnded(SecretBytes([1])), id: id)
                }
            }
            let use = TokenUse(
                objectID: "a", .rsaSignaturePKCS1v15(.message, .sha256),
                data: [UInt8](repeating: 7, count: Wire.useDataLimit + 1))
            let result = try await Self.withClient(answering: answer, features: [Wire.Feature.token]) {
                try? await $0.use(use)
            }
            #expect(result == (missing == 0 ? SecretBytes([1]) : nil))
        }
    }

    @Test("Only an unknown request means that a provider has no details of identities")
    func withoutDetails() async throws {
        for code in [FailureCode.unknownRequest, .refused] {
            let answer: Answer = { _, id in
                try WireSamples.bytes(.failure(ProviderFailure(code, "no")), id: id)
            }
            let result = await Result { () async throws in
                try await Self.withClient(answering: answer) { try await $0.identities(in: Item.root) }
            }
            if code == .refused {
                #expect(throws: ProviderFailure(.refused, "")) { try result.get() }
            } else {
                #expect(try result.get() == nil)
            }
        }
    }

    @Test("A client uses neither a provider of another user nor a version that it did not offer")
    func unacceptable() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Liar { _, _ in [] })
                }
            }.bind(unixDomainSocketPath: path).get()
        await #expect(throws: SocketError(.wrongOwner, "")) {
            try await ProviderClient.connect(path: path, clientName: "test", acceptsServer: { _ in false })
        }
        // The provider always chooses version 2.
        await #expect(throws: SocketError(.malformedReply, "")) {
            try await ProviderClient.connect(path: path, clientName: "test", versions: 1...1)
        }
        try await server.close()
    }

    @Test("A path that is not a socket has no provider")
    func noSocket() async throws {
        let scratch = try ScratchFolder()
        let path = try scratch.write([], as: "provider.sock")
        await #expect(throws: SocketError(.notRunning, "")) {
            try await ProviderClient.connect(path: path, clientName: "test")
        }
    }

    @Test("A path that leads through a file fails with the code cannotConnect and the system's reason")
    func pathThroughFile() async throws {
        let scratch = try ScratchFolder()
        let path = try scratch.write([], as: "file") + "/provider.sock"
        let error = await #expect(throws: SocketError.self) {
            try await ProviderClient.connect(path: path, clientName: "test")
        }
        #expect(error?.code == .cannotConnect && error?.errno == ENOTDIR)
    }
}

/// A channel handler that answers the hello correctly or with `greeting`, and every other request as defined
/// by the test.
final class Liar: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let features: [String]
    private let greeting: ProviderReply?
    private let answer: LyingProviderTests.Answer
    private var received = ByteBuffer()

    init(
        _ features: [String] = [], greeting: ProviderReply? = nil,
        _ answer: @escaping LyingProviderTests.Answer
    ) {
        self.features = features
        self.greeting = greeting
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        do {
            while let frame = try Frame.next(from: &received, limit: Wire.longRequestLimit) {
                let request = try ProviderRequest(frame)
                let bytes: [UInt8]
                if case .hello = request {
                    let welcome = Welcome(
                        version: Wire.tokenVersion, serverName: "liar", services: [],
                        requestLimit: Wire.longRequestLimit,
                        features: features)
                    bytes = try WireSamples.bytes(greeting ?? .welcome(welcome), id: frame.requestID)
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
