internal import NIOCore
internal import NIOHTTP1
internal import SecretMemory

/// The channel handler of one connection of a `LoopbackServer`: it collects a request, has it answered, and ends.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: LoopbackServer.Limits
    private let responder: LoopbackServer.Responder
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// Whether the request is complete. What the peer sends behind it is ignored.
    private var isComplete = false
    private var isAnswered = false
    private var deadline: Scheduled<Void>?

    init(limits: LoopbackServer.Limits, responder: LoopbackServer.Responder) {
        self.limits = limits
        self.responder = responder
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(limits.time)) {
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isComplete else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part): body += part.readableBytesView
        case .end:
            isComplete = true
            answer(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The peer sends nothing more. Without a whole request, nothing is left to do; behind one, the peer waits for
        // the response, or has it.
        if case ChannelEvent.inputClosed? = event as? ChannelEvent, !isComplete || isAnswered {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Ends the connection after bytes that are no HTTP; NIO's handler has sent status 400 by now.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isComplete = true
        endResponse(context)
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let head, let method = HTTPRequest.Method(rawValue: head.method.rawValue) else {
            write(.text(405, "GET, HEAD and POST are answered", mayBeStored: false), context)
            return
        }
        // The target is taken as a path. The absolute form with scheme and host (RFC 9112, 3.2.2) is for proxies.
        let path = head.uri.prefix { $0 != "?" && $0 != "#" }
        let request = HTTPRequest(
            method: method, path: String(path),
            authorization: head.headers.first(name: "Authorization").map { SecretBytes(utf8: $0) },
            body: body)
        let respond: @Sendable (HTTPRequest) async -> HTTPResponse
        switch responder {
        case .onEventLoop(let respond):
            write(respond(request), context)
            return
        case .task(let function): respond = function
        }
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.makeFutureWithTask { await respond(request) }
            .whenSuccess { response in
                let (handler, context) = bound.value
                handler.write(response, context)
            }
    }

    private func write(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        guard !isAnswered, context.channel.isActive else { return }
        var headers: HTTPHeaders = [
            "Content-Type": response.contentType, "Content-Length": "\(response.body.count)",
            "Connection": "close",
        ]
        if !response.mayBeStored { headers.add(name: "Cache-Control", value: "no-store") }
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if head?.method != .HEAD {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        endResponse(context)
    }

    /// Closes the sending side. The peer closes the connection then: if this side closed it first, the kernel could
    /// discard what the peer has not read yet.
    private func endResponse(_ context: ChannelHandlerContext) {
        isAnswered = true
        context.close(mode: .output, promise: nil)
    }
}
