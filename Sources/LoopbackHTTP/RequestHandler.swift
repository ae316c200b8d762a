internal import NIOCore
internal import NIOHTTP1
internal import SecretMemory

/// The channel handler of one connection of a `LoopbackServer`: it collects a request, has it answered, and ends.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: LoopbackServer.Limits
    private let responder: LoopbackServer.Responder
    private let answers: AnswerQueue
    /// The number of the answer that is being made; nil where none is.
    private var answer: Int?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// Whether the request is complete. What the peer sends behind it is ignored.
    private var isComplete = false
    private var isAnswered = false
    private var deadline: Scheduled<Void>?
    /// Sends the parts of a stream; nil where there is none.
    private var streaming: Task<Void, Never>?

    init(limits: LoopbackServer.Limits, responder: LoopbackServer.Responder, answers: AnswerQueue) {
        self.limits = limits
        self.answers = answers
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
        if let answer { answers.cancel(answer) }
        streaming?.cancel()
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
        let request = request()
        let wrongMethod = HTTPResponse.text(405, "GET, HEAD and POST are answered", mayBeStored: false)
        let respond: @Sendable (HTTPRequest) async -> HTTPAnswer
        switch (responder, request) {
        case (.onEventLoop(let respond), let request?):
            write(respond(request), context)
            return
        case (.task(let function), let request) where request != nil || limits.isForOwnUserOnly:
            respond = function
        default:
            write(wrongMethod, context)
            return
        }
        let isForOwnUserOnly = limits.isForOwnUserOnly
        let (peer, local) = (context.remoteAddress, context.localAddress)
        answer = answers.submit {
            if isForOwnUserOnly, !LoopbackPeer.isOwnUser(peer, connectedTo: local) {
                return .response(.nothingButForbidden)
            }
            guard let request else { return .response(wrongMethod) }
            return await respond(request)
        } done: { [self] answer in
            self.answer = nil
            switch answer {
            case .response(let response): write(response, context)
            case .stream(let head, let parts): write(head, parts, context)
            }
        }
    }

    /// The request that was collected; nil where its method is one that is not answered.
    private func request() -> HTTPRequest? {
        guard let head, let method = HTTPRequest.Method(rawValue: head.method.rawValue) else { return nil }
        // The target is taken as a path. The absolute form with scheme and host (RFC 9112, 3.2.2) is for proxies.
        let target = head.uri.prefix { $0 != "#" }
        let path = target.prefix { $0 != "?" }
        var fields: [String: [String]] = [:]
        for field in head.headers where field.name.lowercased() != "authorization" {
            fields[field.name.lowercased(), default: []].append(field.value)
        }
        return HTTPRequest(
            method: method, path: String(path), query: String(target.dropFirst(path.count + 1)),
            fields: fields,
            authorization: head.headers.first(name: "Authorization").map { SecretBytes(utf8: $0) },
            body: body)
    }

    private func write(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        guard !isAnswered, context.channel.isActive else { return }
        write(
            headOf: response, [("Content-Length", "\(response.body.count)")], context)
        if head?.method != .HEAD {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        endResponse(context)
    }

    /// Sends a response whose content goes on with `parts`.
    private func write(
        _ response: HTTPResponse, _ parts: AsyncStream<[UInt8]>, _ context: ChannelHandlerContext
    ) {
        guard !isAnswered, context.channel.isActive else { return }
        isAnswered = true
        deadline?.cancel()
        write(headOf: response, [], context)
        let body = ByteBuffer(bytes: response.body)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let (channel, limit) = (context.channel, TimeAmount(limits.stalled))
        streaming = Task {
            for await part in parts {
                let patience = channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
                let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: part)))
                // A peer that has gone ends this task, too, by `channelInactive`.
                try? await channel.writeAndFlush(part).get()
                patience.cancel()
            }
            try? await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
            channel.close(mode: .output, promise: nil)
        }
    }

    private func write(
        headOf response: HTTPResponse, _ framing: [(String, String)], _ context: ChannelHandlerContext
    ) {
        var headers = HTTPHeaders([("Connection", "close")] + framing)
        if !response.contentType.isEmpty { headers.add(name: "Content-Type", value: response.contentType) }
        if !response.mayBeStored { headers.add(name: "Cache-Control", value: "no-store") }
        for (name, value) in response.fields.sorted(by: { $0.key < $1.key }) {
            headers.add(name: name, value: value)
        }
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(
            wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
    }

    /// Closes the sending side. The peer closes the connection then: if this side closed it first, the kernel could
    /// discard what the peer has not read yet.
    private func endResponse(_ context: ChannelHandlerContext) {
        isAnswered = true
        context.close(mode: .output, promise: nil)
    }
}

extension HTTPResponse {
    /// What other users get: a status, and nothing that tells them what answers here.
    fileprivate static let nothingButForbidden = HTTPResponse(status: 403, contentType: "", body: [])
}
