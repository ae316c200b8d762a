package import LocalSockets
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import SecretMemory

/// A client of HTTP servers on this machine.
///
/// It is not Foundation's `URLSession`, which would send requests through any proxy that the environment names.
package enum LoopbackClient {
    /// How long a client waits, and how much it accepts.
    package struct Limits: Sendable {
        /// The number of bytes of a response's content.
        package var responseBytes = 2 << 20
        /// The time for the connection, and for the response, each.
        package var time: Duration = .seconds(60)

        /// Makes the limits for everyday use.
        package init() {}
    }

    /// Sends one request on a connection of its own, and returns the response.
    ///
    /// The value of `authorization` becomes a header field, which NIO keeps as a `String`: it is not wiped. Use a
    /// token that is of no use afterwards.
    ///
    /// - Throws: `SocketError`: `notRunning` where no program listens at `address`, `timedOut`, `closed`,
    ///   `contentTooLarge`, `malformedReply` for bytes that are no HTTP, `cannotConnect`.
    package static func send(
        _ request: HTTPRequest, to address: LoopbackAddress, limits: Limits = Limits()
    ) async throws(SocketError) -> HTTPResponse {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let response = loop.makePromise(of: NIOHTTPClientResponseFull.self)
        do {
            let channel = try await connect(to: address, limits, response)
            let deadline = loop.scheduleTask(in: TimeAmount(limits.time)) {
                response.fail(SocketError(.timedOut, "\(address) did not answer in time"))
                channel.close(promise: nil)
            }
            defer {
                deadline.cancel()
                channel.close(promise: nil)
            }
            channel.write(HTTPClientRequestPart.head(head(of: request, for: address)), promise: nil)
            if !request.body.isEmpty {
                channel.write(
                    HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body))), promise: nil)
            }
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            return HTTPResponse(try await response.futureResult.get())
        } catch let error as SocketError {
            throw error
        } catch is HTTPParserError {
            throw SocketError(.malformedReply, "\(address) does not answer in HTTP")
        } catch let error as NIOHTTPObjectAggregatorError where error == .frameTooLong {
            throw SocketError(
                .contentTooLarge, "the answer of \(address) has more than \(limits.responseBytes) bytes")
        } catch {
            throw SocketError(.closed, "\(address) does not answer: \(error)")
        }
    }

    private static func connect(
        to address: LoopbackAddress, _ limits: Limits,
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
                .connect(to: SocketAddress(ipAddress: address.host, port: address.port)).get()
        } catch {
            // A handler that was added has failed the promise by now; a second failure has no effect.
            response.fail(error)
            switch error {
            case let error as IOError where error.errnoCode == ECONNREFUSED:
                throw SocketError(.notRunning, "nobody listens at \(address)", errno: error.errnoCode)
            case ChannelError.connectTimeout:
                throw SocketError(.timedOut, "\(address) does not accept the connection")
            default:
                throw SocketError(
                    .cannotConnect, "\(address) cannot be connected to: \(error)",
                    errno: (error as? IOError)?.errnoCode)
            }
        }
    }

    private static func head(of request: HTTPRequest, for address: LoopbackAddress) -> HTTPRequestHead {
        var headers: HTTPHeaders = ["Host": "\(address)", "Connection": "close"]
        if !request.body.isEmpty { headers.add(name: "Content-Length", value: "\(request.body.count)") }
        if let authorization = request.authorization {
            let value = unsafe authorization.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
            headers.add(name: "Authorization", value: value)
        }
        return HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue), uri: request.path,
            headers: headers)
    }
}

extension HTTPResponse {
    fileprivate init(_ response: NIOHTTPClientResponseFull) {
        let headers = response.head.headers
        self.init(
            status: Int(response.head.status.code), contentType: headers.first(name: "Content-Type") ?? "",
            body: response.body.map { Array($0.readableBytesView) } ?? [],
            mayBeStored: !headers["Cache-Control"].contains { $0.lowercased() == "no-store" })
    }
}

/// The channel handler that completes a promise with the response, or with why there is none.
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
