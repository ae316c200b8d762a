package import LocalSockets
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ServiceLifecycle

/// A small HTTP server that only this machine reaches.
///
/// It answers one request on each connection, from the end of its initialiser until it is closed, or released, or the
/// service group that runs it ends. Any local user can connect: handlers must authenticate a request before they answer
/// with anything private. A peer gets limited bytes and limited time; when there are too many connections, the oldest
/// is closed for the new one.
///
/// ```swift
/// let server = try await LoopbackServer(LoopbackAddress("127.0.0.1:0"), logger: logger) { request in
///     .text(200, "you asked for \(request.path)")
/// }
/// ```
package final class LoopbackServer: Service {
    /// The limits for peers.
    package struct Limits: Sendable {
        /// The number of connections at a time.
        package var connections = 64
        /// The number of bytes of a whole request: its line, its headers and its body.
        package var requestBytes = 16_384
        /// The number of answers that are made at a time; the others wait, one for each connection at most.
        package var answersAtOnce = 2
        /// The time from the accept to the last byte of the response, or to the beginning of a stream.
        package var time: Duration = .seconds(10)
        /// The time that a part of a stream may wait for a peer that does not read.
        package var stalled: Duration = .seconds(30)
        /// Whether requests of other users of this machine get an empty 403. The kernel names the user. What is no HTTP
        /// gets no answer then, because its sender is not looked up. It has no effect where requests are answered on the
        /// event loop.
        package var isForOwnUserOnly = false

        /// Makes the limits for everyday use.
        package init() {}
    }

    /// The function that answers requests, and where it runs.
    enum Responder: Sendable {
        case onEventLoop(@Sendable (HTTPRequest) -> HTTPResponse)
        case task(@Sendable (HTTPRequest) async -> HTTPAnswer)
    }

    /// The address that the server listens on, with the port that the system chose.
    package let address: LoopbackAddress
    private let channel: any Channel
    private let logger: Logger

    /// Makes a server whose `answer` runs as a task, several at once. It listens and answers once this returns.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async throws(SocketError) {
        try await self.init(
            address, limits: limits, logger: logger, responder: .task { .response(await answer($0)) })
    }

    /// Makes a server whose `answer` runs as a task, several at once, and may give a stream. It listens and answers once
    /// this returns.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        streaming answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
    ) async throws(SocketError) {
        try await self.init(address, limits: limits, logger: logger, responder: .task(answer))
    }

    /// Makes a server whose `answerAtOnce` runs on the event loop, where it must not block. Requests are answered even
    /// while every thread for tasks is busy. The server listens and answers once this returns.
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
                .serverChannelOption(.backlog, value: 256)
                // Without it, a port cannot be used for a minute after its last connection (socket(7)).
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        limiter.value.admit(channel)
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(RequestSizeLimiter(limit: limits.requestBytes))
                        try pipeline.configureHTTPServerPipeline(
                            withPipeliningAssistance: false,
                            withErrorHandling: !limits.isForOwnUserOnly)
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
                ? SocketError(.addressInUse, "something else listens on \(address)", errno: reason)
                : SocketError(.system, "\(address) cannot be listened on", errno: reason)
        }
        self.address = address.with(port: channel.localAddress?.port ?? address.port)
        self.logger = logger
    }

    deinit {
        channel.close(promise: nil)
    }

    /// Stops accepting connections before it returns, and makes `run()` return. Connections that are open are still
    /// answered. A second call has no effect.
    package func close() async {
        try? await channel.close()
    }

    /// Waits until the service group shuts down gracefully, the task is cancelled, or the server is closed. The server
    /// accepts no new connection when this returns.
    ///
    /// - Throws: The errors of NIO where the listening socket fails.
    package func run() async throws {
        logger.info("listening", metadata: ["address": "\(address)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await channel.closeFuture.get()
        } onCancelOrGracefulShutdown: { [channel] in
            channel.close(promise: nil)
        }
    }
}

/// The open connections of a server, the oldest first. It is used on one event loop only.
private final class ConnectionLimiter {
    private let limit: Int
    private var channels: [any Channel] = []

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Counts a new connection, and closes the oldest one where there are too many.
    func admit(_ channel: any Channel) {
        if channels.count >= limit { channels.removeFirst().close(promise: nil) }
        channels.append(channel)
        let limiter = NIOLoopBound(self, eventLoop: channel.eventLoop)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            limiter.value.channels.removeAll { $0 === channel }
        }
    }
}

/// The channel handler that closes a connection whose request has too many bytes.
private final class RequestSizeLimiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The number of bytes that the request may still have.
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
