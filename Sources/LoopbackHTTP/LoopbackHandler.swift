internal import SecretMemory
internal import NIOCore
internal import NIOHTTP1

/// One connection of a `LoopbackServer`: collects a request, has it answered, and ends.
final class LoopbackHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: LoopbackServer.Limits
    private let answering: LoopbackServer.Answering
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// Whether the request has been taken; what comes behind it is not looked at.
    private var isTaken = false
    private var isAnswered = false
    private var deadline: Scheduled<Void>?

    init(limits: LoopbackServer.Limits, answering: LoopbackServer.Answering) {
        self.limits = limits
        self.answering = answering
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
        guard !isTaken else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part): body += part.readableBytesView
        case .end:
            isTaken = true
            take(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The peer has nothing more to say: before its request, that is the end; behind it, it waits for the
        // answer, or has it.
        if case ChannelEvent.inputClosed? = event as? ChannelEvent, !isTaken || isAnswered {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// What is no HTTP has been answered by now, by the handler before this one.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isTaken = true
        endAnswer(context)
    }

    private func take(_ context: ChannelHandlerContext) {
        guard let head, let method = HTTPRequest.Method(rawValue: head.method.rawValue) else {
            write(.text(405, "GET, HEAD and POST are answered", mayBeStored: false), context)
            return
        }
        // A proxy's form of the target, with scheme and host, is not for a server like this one.
        let path = head.uri.prefix { $0 != "?" && $0 != "#" }
        let query = HTTPRequest(
            method: method, path: String(path),
            authorization: head.headers.first(name: "Authorization").map { SecretBytes(utf8: $0) },
            body: body)
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse
        switch answering {
        case .atOnce(let give):
            write(give(query), context)
            return
        case .later(let give): answer = give
        }
        let place = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.makeFutureWithTask { await answer(query) }
            .whenSuccess { answer in
                let (handler, context) = place.value
                handler.write(answer, context)
            }
    }

    private func write(_ answer: HTTPResponse, _ context: ChannelHandlerContext) {
        guard !isAnswered, context.channel.isActive else { return }
        var headers: HTTPHeaders = [
            "Content-Type": answer.contentType, "Content-Length": "\(answer.body.count)",
            "Connection": "close",
        ]
        if !answer.mayBeStored { headers.add(name: "Cache-Control", value: "no-store") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if head?.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        endAnswer(context)
    }

    /// Says that no more comes. The peer closes then; to close first could throw away what it has not read.
    private func endAnswer(_ context: ChannelHandlerContext) {
        isAnswered = true
        context.close(mode: .output, promise: nil)
    }
}
