internal import SecretMemory
internal import DeviceSimulation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import OpenSSL

/// Fetches from a sender on this machine.
///
/// Not by Foundation's session: that would go by whatever proxy the environment names.
enum LoopbackClient {
    /// The greatest answer that is taken, in bytes.
    private static let limit = 2 << 20
    /// Longer than anybody on this machine takes.
    private static let patience = TimeAmount.seconds(60)

    /// What the sender at `port` answers to `token`; nil is for whoever has none.
    ///
    /// - Throws: `SharingChannelError`: `.notRunning` where nobody listens, `.denied` and `.alreadyUsed` as the sender says.
    static func fetch(port: Int, token: SecretBytes?) async throws(SharingChannelError) -> [UInt8] {
        let response: NIOHTTPClientResponseFull
        do {
            response = try await ask(port, token)
        } catch let error as NIOConnectionError {
            throw SharingChannelError(
                .notRunning, "nobody listens at \(OfferServer.host):\(port) any more",
                hint: "send the credential again", cause: error)
        } catch {
            throw SharingChannelError(
                .failed, "the sender at port \(port) does not answer: \(error)", cause: error)
        }
        switch response.head.status {
        case .ok: return response.body.map { Array($0.readableBytesView) } ?? []
        case .gone:
            throw SharingChannelError(
                .alreadyUsed, "the one-time token has been used", hint: "send the credential again")
        case .unauthorized:
            throw SharingChannelError(.denied, "the sender does not know the token, or there is none")
        default: throw SharingChannelError(.failed, "the sender answers \(response.head.status)")
        }
    }

    private static func ask(_ port: Int, _ token: SecretBytes?) async throws -> NIOHTTPClientResponseFull {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: NIOHTTPClientResponseFull.self)
        do {
            let channel = try await ClientBootstrap(group: loop)
                .connectTimeout(patience)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(NIOHTTPClientResponseAggregator(maxContentLength: limit))
                        try pipeline.addHandler(AnswerHandler(answer))
                    }
                }
                .connect(host: OfferServer.host, port: port).get()
            var headers: HTTPHeaders = ["Host": "\(OfferServer.host):\(port)", "Connection": "close"]
            if let token, let text = token.text {
                headers.add(name: "Authorization", value: OneTimeOffer.scheme + text)
            }
            let head = HTTPRequestHead(
                version: .http1_1, method: .GET, uri: OneTimeOffer.path, headers: headers)
            let deadline = loop.scheduleTask(in: patience) { channel.close(promise: nil) }
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            defer {
                deadline.cancel()
                channel.close(promise: nil)
            }
            return try await answer.futureResult.get()
        } catch {
            // Without effect where the handler has kept it.
            answer.fail(error)
            throw error
        }
    }
}

/// Waits for the answer.
private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull

    private let answer: EventLoopPromise<NIOHTTPClientResponseFull>

    init(_ answer: EventLoopPromise<NIOHTTPClientResponseFull>) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        answer.succeed(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}
