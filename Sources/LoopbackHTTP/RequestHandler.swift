internal import NIOCore
internal import NIOHTTP1
internal import SecretMemory

/// The channel handler of one `LoopbackServer` connection. It collects a request, passes it to the responder, sends the
/// response, and closes the connection.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: LoopbackServer.Limits
    private let responder: LoopbackServer.Responder
    private let answers: AnswerQueue
    /// The number of the response in the `AnswerQueue`; nil if none is queued or in progress.
    private var answer: Int?
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    /// Whether the request is complete. Further bytes from the peer are ignored.
    private var isComplete = false
    private var isAnswered = false
    private var deadline: Scheduled<Void>?
    /// The task that sends the parts of a stream; nil if the response is not a stream.
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
        // The peer has shut down its sending side. It still waits for the response, unless the request is incomplete or
        // already answered.
        if case ChannelEvent.inputClosed? = event as? ChannelEvent, !isComplete || isAnswered {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Closes the connection after the peer sent bytes that are not HTTP. NIO's handler has already sent status 400.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isComplete = true
        endResponse(context)
    }

    private func answer(_ context: ChannelHandlerContext) {
        let request = request()
        let wrongMethod = HTTPResponse.text(405, "only GET, HEAD and POST are supported", mayBeStored: false)
        switch (responder, request) {
        case (.onEventLoop(let respond), let request?):
            write(respond(request), context)
        case (.task(let respond), let request?):
            submit(request, respond, context)
        default:
            write(wrongMethod, context)
        }
    }

    private func submit(
        _ request: HTTPRequest, _ respond: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer,
        _ context: ChannelHandlerContext
    ) {
        answer = answers.submit {
            await respond(request)
        } done: { [self] answer in
            self.answer = nil
            switch answer {
            case .response(let response): write(response, context)
            case .stream(let head, let parts): write(head, parts, context)
            }
        }
    }

    /// Returns the collected request; nil if its method is not supported.
    private func request() -> HTTPRequest? {
        guard let head, let method = HTTPRequest.Method(rawValue: head.method.rawValue) else { return nil }
        // Only the path form is supported. The absolute form with scheme and host (RFC 9112, 3.2.2) is for proxies.
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

    /// Sends a response whose body is followed by `parts`.
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
                // If the peer disconnects, `channelInactive` ends this task.
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

    /// Closes the sending side. The peer then closes the connection. If this side closed it first, the kernel could
    /// discard data that the peer has not read yet.
    private func endResponse(_ context: ChannelHandlerContext) {
        isAnswered = true
        context.close(mode: .output, promise: nil)
    }
}
