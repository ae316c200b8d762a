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
    private let channel: any Channel
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
        do {
            let limiter = try await loop.submit {
                NIOLoopBound(ConnectionLimiter(limit: limits.connections), eventLoop: loop)
            }.get()
            let answers = try await loop.submit {
                NIOLoopBound(AnswerQueue(limit: limits.answersAtOnce, on: loop), eventLoop: loop)
            }.get()
            channel = try await ServerBootstrap(group: loop)
                // Other users can fill the accept queue. The kernel drops a connection attempt if the queue is full,
                // and the peer repeats the attempt only after 1 s.
                .serverChannelOption(.backlog, value: 4_096)
                // Without this option, the port cannot be used for a minute after its last connection (socket(7)).
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        // The event loop closes a channel whose initializer throws.
                        if limits.isForOwnUserOnly,
                            !LoopbackPeer.isOwnUser(channel.remoteAddress, connectedTo: channel.localAddress)
                        {
                            throw ForeignUser()
                        }
                        limiter.value.admit(channel)
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(RequestSizeLimiter(limit: limits.requestBytes))
                        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
                        try pipeline.addHandler(
                            RequestHandler(limits: limits, responder: responder, answers: answers.value))
                    }
                }
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .bind(to: SocketAddress(ipAddress: address.host, port: address.port)).get()
        } catch {
            let reason = (error as? IOError)?.errnoCode
            throw reason == EADDRINUSE
                ? SocketError(.addressInUse, "another program listens on \(address)", errno: reason)
                : SocketError(.system, "cannot listen on \(address)", errno: reason)
        }
        self.address = address.with(port: channel.localAddress?.port ?? address.port)
        self.logger = logger
    }

    deinit {
        channel.close(promise: nil)
    }

    /// Stops accepting connections before it returns, and makes `run()` return. Open connections still get their
    /// responses. A second call has no effect.
    package func close() async {
        try? await channel.close()
    }

    /// Waits until the service group shuts down gracefully, the task is cancelled, or the server is closed. When it
    /// returns, the server no longer accepts connections.
    ///
    /// - Throws: NIO's error if the listening socket fails.
    package func run() async throws {
        logger.info("listening", metadata: ["address": "\(address)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await channel.closeFuture.get()
        } onCancelOrGracefulShutdown: { [channel] in
            channel.close(promise: nil)
        }
    }
}

/// The reason for closing a connection immediately after accepting it: its other end belongs to another user.
private struct ForeignUser: Error {}

/// The open connections of a server, oldest first. Use it only on one event loop.
private final class ConnectionLimiter {
    private let limit: Int
    private var channels: [any Channel] = []

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Counts a new connection, and closes the oldest one if there are too many.
    func admit(_ channel: any Channel) {
        if channels.count >= limit { channels.removeFirst().close(promise: nil) }
        channels.append(channel)
        let limiter = NIOLoopBound(self, eventLoop: channel.eventLoop)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            limiter.value.channels.removeAll { $0 === channel }
        }
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
