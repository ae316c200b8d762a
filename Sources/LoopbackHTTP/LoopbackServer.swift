internal import Glibc
package import LocalSockets
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ServiceLifecycle

/// A small HTTP server that only this machine can reach.
///
/// It handles one request per connection. It runs from the end of its initializer until it is closed or released, or
/// until its service group ends. Any local user can connect, so handlers must authenticate a request before they return
/// private data. The size and the time of each request are limited. If there are too many connections, the oldest one
/// is closed.
///
/// ```swift
/// let server = try await LoopbackServer(LoopbackAddress("127.0.0.1:0"), logger: logger) { request in
///     .text(200, "you asked for \(request.path)")
/// }
/// ```
package final class LoopbackServer: Service {
    /// The limits for peers.
    package struct Limits: Sendable {
        /// The maximum number of open connections.
        package var connections = 64
        /// The maximum number of bytes of a whole request: request line, headers and body.
        package var requestBytes = 16_384
        /// The maximum number of responses in progress. Others wait, at most one for each connection.
        package var answersAtOnce = 2
        /// The time from accepting a connection to the last byte of the response, or to the start of a stream.
        package var time: Duration = .seconds(10)
        /// The time that a part of a stream may wait for a peer that does not read.
        package var stalled: Duration = .seconds(30)
        /// Whether to close connections of other users of this machine immediately, without sending a byte. The kernel
        /// reports the user. Such connections do not count toward `connections`.
        package var isForOwnUserOnly = false

        /// Creates the default limits.
        package init() {}
    }

    /// The function that handles requests: on the event loop, or as a task.
    enum Responder: Sendable {
        case onEventLoop(@Sendable (HTTPRequest) -> HTTPResponse)
        case task(@Sendable (HTTPRequest) async -> HTTPAnswer)
    }

    /// The address that the server listens on, with the port that the system chose.
    package let address: LoopbackAddress
    private let acceptor: Acceptor
    /// The run of the acceptor.
    private let accepting: Task<Void, any Error>
    private let logger: Logger

    /// Starts a server that runs `answer` as a task for each request; the tasks run concurrently. It accepts requests
    /// when the initializer returns.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async throws(SocketError) {
        try await self.init(
            address, limits: limits, logger: logger, responder: .task { .response(await answer($0)) })
    }

    /// Starts a server that runs `answer` as a task for each request; the tasks run concurrently. `answer` may return a
    /// stream. The server accepts requests when the initializer returns.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        streaming answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
    ) async throws(SocketError) {
        try await self.init(address, limits: limits, logger: logger, responder: .task(answer))
    }

    /// Starts a server that runs `answerAtOnce` on the event loop. The function must not block. Requests are answered
    /// even if every thread for tasks is busy. The server accepts requests when the initializer returns.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        answerAtOnce: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) async throws(SocketError) {
        try await self.init(address, limits: limits, logger: logger, responder: .onEventLoop(answerAtOnce))
    }

    private init(
        _ address: LoopbackAddress, limits: Limits, logger: Logger, responder: Responder
    ) async throws(SocketError) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let socket = try ListeningTCPSocket(address)
        do throws(SocketError) {
            let opener = NIOLoopBoundBox.makeBoxSendingValue(
                ConnectionOpener(limits, responder, on: loop), eventLoop: loop)
            acceptor = try Acceptor(
                listening: socket.descriptor, queue: ListeningTCPSocket.queue,
                abandoned: AbandonedConnectionCount(),
                events: Acceptor.Events(
                    connected: { connection, done in
                        guard !limits.isForOwnUserOnly || LoopbackPeer.isOwnUser(connection) else {
                            LoopbackPeer.reset(connection)
                            return false
                        }
                        loop.execute {
                            opener.value.open(connection)
                            done()
                        }
                        return true
                    },
                    exhausted: { _ in (try? loop.submit { opener.value.closeOldest() }.wait()) ?? false }))
        } catch {
            Glibc.close(socket.descriptor)
            throw error
        }
        self.address = address.with(port: socket.port)
        self.logger = logger
        accepting = Task { [acceptor] in try await acceptor.run() }
    }

    deinit {
        acceptor.stop()
    }

    /// Stops accepting connections before it returns, and makes `run()` return. Open connections still get their
    /// responses. A second call has no effect.
    package func close() async {
        acceptor.stop()
        _ = await accepting.result
    }

    /// Waits until the service group shuts down gracefully, the task is cancelled, or the server is closed. When it
    /// returns, the server no longer accepts connections.
    ///
    /// - Throws: `SocketError` `system` if the listening socket fails.
    package func run() async throws {
        logger.info("listening", metadata: ["address": "\(address)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await accepting.value
        } onCancelOrGracefulShutdown: { [acceptor] in
            acceptor.stop()
        }
    }
}

/// Creates the channels of accepted connections. Use it only on its event loop.
private final class ConnectionOpener {
    private let limits: LoopbackServer.Limits
    private let responder: LoopbackServer.Responder
    private let answers: AnswerQueue
    private let eventLoop: any EventLoop
    /// The open connections, oldest first.
    private var channels: [any Channel] = []

    init(_ limits: LoopbackServer.Limits, _ responder: LoopbackServer.Responder, on eventLoop: any EventLoop)
    {
        self.limits = limits
        self.responder = responder
        self.eventLoop = eventLoop
        answers = AnswerQueue(limit: limits.answersAtOnce, on: eventLoop)
    }

    /// Opens an accepted connection, and closes the oldest one if there are too many.
    ///
    /// - Parameter connection: The descriptor, which this function passes to the channel.
    func open(_ connection: CInt) {
        let opener = NIOLoopBound(self, eventLoop: eventLoop)
        _ = ClientBootstrap(group: eventLoop)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try opener.value.prepare(channel) }
            }
            .withConnectedSocket(connection)
    }

    /// Closes the oldest connection, and returns whether there was one.
    func closeOldest() -> Bool {
        guard !channels.isEmpty else { return false }
        channels.removeFirst().close(promise: nil)
        return true
    }

    /// Counts a new channel and adds its handlers. The event loop closes a channel if this function throws.
    private func prepare(_ channel: any Channel) throws {
        if channels.count >= max(limits.connections, 1) { _ = closeOldest() }
        channels.append(channel)
        let opener = NIOLoopBound(self, eventLoop: eventLoop)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            opener.value.channels.removeAll { $0 === channel }
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestSizeLimiter(limit: limits.requestBytes))
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try pipeline.addHandler(RequestHandler(limits: limits, responder: responder, answers: answers))
    }
}

/// The channel handler that closes a connection if its request has too many bytes.
private final class RequestSizeLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The number of bytes that the request may still contain.
    private var remaining: Int

    init(limit: Int) {
        remaining = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        remaining -= unwrapInboundIn(data).readableBytes
        if remaining >= 0 {
            context.fireChannelRead(data)
        } else {
            context.close(promise: nil)
        }
    }
}
