internal import DeviceSimulation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import OpenSSL
internal import Synchronization

/// Listens at a random port of 127.0.0.1 and hands one thing out, once, to whoever brings its token.
actor LoopbackServer {
    static let host = "127.0.0.1"
    static let path = "/credential"

    /// For how long something is offered.
    private static let lifetime = TimeAmount.seconds(60)
    /// How long a connection may take.
    fileprivate static let patience = TimeAmount.seconds(10)

    private nonisolated let offer = Offer()
    private var listening: Task<any Channel, any Error>?

    deinit {
        if let listening {
            Task { try await listening.value.close() }
        }
    }

    /// The port that is listened at, from the first call on until `close()`.
    ///
    /// - Throws: what the system says where there is no port to be had.
    func port() async throws -> Int {
        let channel = try await channel()
        guard let port = channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        return port
    }

    /// The port, if it is listened at.
    func openPort() async -> Int? {
        try? await listening?.value.localAddress?.port
    }

    /// Offers `content` to whoever brings `token`, in place of what was offered before.
    nonisolated func offer(_ content: [UInt8], token: SecretBytes) {
        offer.set(content, token: token)
        MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: Self.lifetime) { [offer] in
            offer.withdraw(token)
        }
    }

    /// Stops listening, and forgets what was offered.
    func close() async {
        offer.withdraw()
        let channel = try? await listening?.value
        listening = nil
        try? await channel?.close()
    }

    private func channel() async throws -> any Channel {
        if let listening { return try await listening.value }
        let starting = Task { [offer] in
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 16)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                        try channel.pipeline.syncOperations.addHandler(LoopbackHandler(offer))
                    }
                }
                .bind(host: Self.host, port: 0).get() as any Channel
        }
        listening = starting
        do {
            return try await starting.value
        } catch {
            listening = nil
            throw error
        }
    }
}

/// What is handed out once.
private final class Offer: Sendable {
    private struct State {
        var content: [UInt8]?
        var token: SecretBytes?
    }

    /// What a request gets.
    enum Answer {
        case content([UInt8])
        /// The token was the right one, and has been used.
        case spent
        case refused
    }

    private let state = Mutex(State())

    func set(_ content: [UInt8], token: SecretBytes) {
        state.withLock { $0 = State(content: content, token: token) }
    }

    /// Forgets what is offered for `token`, or for any.
    func withdraw(_ token: SecretBytes? = nil) {
        state.withLock { state in
            if token == nil || state.token == token { state = State() }
        }
    }

    func take(_ token: SecretBytes) -> Answer {
        state.withLock { state in
            guard token == state.token else { return .refused }
            guard let content = state.content.take() else { return .spent }
            return .content(content)
        }
    }
}

/// Answers the one request of a connection.
private final class LoopbackHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let offer: Offer
    private var head: HTTPRequestHead?

    init(_ offer: Offer) {
        self.offer = offer
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: LoopbackServer.patience) { channel.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head = head.take() else { return }
            let (status, content) = answer(head)
            reply(status, content, to: head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequestHead) -> (HTTPResponseStatus, [UInt8]) {
        guard head.uri == LoopbackServer.path else { return (.notFound, []) }
        guard head.method == .GET else { return (.methodNotAllowed, []) }
        let bearer = LoopbackClient.bearer
        guard let value = head.headers.first(name: LoopbackClient.header), value.hasPrefix(bearer) else {
            return (.unauthorized, [])
        }
        return switch offer.take(SecretBytes(Array(value.utf8.dropFirst(bearer.utf8.count)))) {
        case .content(let content): (.ok, content)
        case .spent: (.gone, [])
        case .refused: (.unauthorized, [])
        }
    }

    private func reply(
        _ status: HTTPResponseStatus, _ content: [UInt8], to head: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        let headers: HTTPHeaders = [
            "Content-Length": "\(content.count)", "Content-Type": "application/octet-stream",
            "Cache-Control": "no-store", "Connection": "close",
        ]
        let channel = context.channel
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: status, headers: headers))),
            promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: content)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}
