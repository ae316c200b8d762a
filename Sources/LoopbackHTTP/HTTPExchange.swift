internal import LocalSockets
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// One HTTP request and its response on a separate connection to a resolved address.
enum HTTPExchange {
    /// The limits of time and size.
    struct Limits {
        /// The maximum number of bytes of the response's content.
        let responseBytes: Int
        /// The timeout for connecting, and also for receiving the response.
        let time: Duration
    }

    /// Sends a request and returns the response.
    ///
    /// - Parameters:
    ///   - head: The request line and the header fields.
    ///   - body: The request's content; may be empty.
    ///   - address: The address to connect to.
    ///   - name: The server's address as text, for errors.
    /// - Throws: `SocketError`: `notRunning`, `timedOut`, `closed`, `contentTooLarge`, `malformedReply` for bytes that
    ///   are not HTTP, `cannotConnect`.
    static func send(
        _ head: HTTPRequestHead, body: [UInt8], to address: SocketAddress, named name: String,
        _ limits: Limits
    ) async throws(SocketError) -> NIOHTTPClientResponseFull {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let response = loop.makePromise(of: NIOHTTPClientResponseFull.self)
        do {
            let channel = try await connect(to: address, named: name, limits, response)
            let deadline = loop.scheduleTask(in: TimeAmount(limits.time)) {
                response.fail(SocketError(.timedOut, "\(name) did not respond in time"))
                channel.close(promise: nil)
            }
            defer {
                deadline.cancel()
                channel.close(promise: nil)
            }
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            if !body.isEmpty {
                channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            }
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            return try await response.futureResult.get()
        } catch let error as SocketError {
            throw error
        } catch is HTTPParserError {
            throw SocketError(.malformedReply, "the response from \(name) is not HTTP")
        } catch let error as NIOHTTPObjectAggregatorError where error == .frameTooLong {
            throw SocketError(
                .contentTooLarge, "the response from \(name) has more than \(limits.responseBytes) bytes")
        } catch {
            throw SocketError(.closed, "\(name) does not respond: \(error)")
        }
    }

    private static func connect(
        to address: SocketAddress, named name: String, _ limits: Limits,
        _ response: EventLoopPromise<NIOHTTPClientResponseFull>
    ) async throws(SocketError) -> any Channel {
        do {
            return try await ClientBootstrap(group: response.futureResult.eventLoop)
                .connectTimeout(TimeAmount(limits.time))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(
                            NIOHTTPClientResponseAggregator(maxContentLength: limits.responseBytes))
                        try pipeline.addHandler(ResponseHandler(response))
                    }
                }
                .connect(to: address).get()
        } catch {
            // A handler that was added has already failed the promise; a second failure has no effect.
            response.fail(error)
            switch error {
            case let error as IOError where error.errnoCode == ECONNREFUSED:
                throw SocketError(.notRunning, "no server listens at \(name)", errno: error.errnoCode)
            case ChannelError.connectTimeout:
                throw SocketError(.timedOut, "\(name) did not accept the connection")
            default:
                throw SocketError(
                    .cannotConnect, "cannot connect to \(name): \(error)",
                    errno: (error as? IOError)?.errnoCode)
            }
        }
    }
}

/// The channel handler that completes a promise with the response or the error.
private final class ResponseHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull

    private let response: EventLoopPromise<NIOHTTPClientResponseFull>

    init(_ response: EventLoopPromise<NIOHTTPClientResponseFull>) {
        self.response = response
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        response.succeed(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        response.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        response.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}
