package import LocalSockets
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ServiceLifecycle

/// A small HTTP server that only this machine reaches, until it is closed or nobody holds it any more; in a
/// service group, until that ends.
///
/// It answers one request a connection. Whoever is on this machine may ask, other users included, so what not
/// everybody may know must be answered only to who brings proof. A peer gets so many bytes and so much time;
/// when there is no room, the oldest connection goes and the newcomer is served.
package final class LoopbackServer: Service {
    /// What peers are granted.
    package struct Limits: Sendable {
        /// Connections at a time.
        package var connections = 64
        /// Bytes of a whole request: its line, its headers and its body.
        package var requestBytes = 16_384
        /// From the accept to the last byte of the answer.
        package var time: Duration = .seconds(10)

        package init() {}
    }

    /// How queries are answered.
    enum Answering: Sendable {
        case atOnce(@Sendable (HTTPRequest) -> HTTPResponse)
        case later(@Sendable (HTTPRequest) async -> HTTPResponse)
    }

    /// Where it listens, with the port that the system chose.
    package let address: LoopbackAddress
    private let channel: any Channel
    private let logger: Logger

    /// Listens from the moment this returns, and answers as well.
    ///
    /// - Parameter answer: gives the answer to a query; called off the event loop, for many at a time.
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async throws(SocketError) {
        try await self.init(address, limits: limits, logger: logger, answering: .later(answer))
    }

    /// The same with answers that are given on the event loop: they must not block, and come even where every
    /// thread for tasks is taken.
    package convenience init(
        _ address: LoopbackAddress, limits: Limits = Limits(), logger: Logger,
        answerAtOnce: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) async throws(SocketError) {
        try await self.init(address, limits: limits, logger: logger, answering: .atOnce(answerAtOnce))
    }

    private init(
        _ address: LoopbackAddress, limits: Limits, logger: Logger, answering: Answering
    ) async throws(SocketError) {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        do {
            let guests = try await loop.submit {
                NIOLoopBound(LoopbackGuests(limit: limits.connections), eventLoop: loop)
            }.get()
            channel = try await ServerBootstrap(group: loop)
                .serverChannelOption(.backlog, value: 256)
                // Otherwise a port stays taken for a minute after it was used.
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        guests.value.arrive(channel)
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(ByteCeiling(limit: limits.requestBytes))
                        try pipeline.configureHTTPServerPipeline(
                            withPipeliningAssistance: false, withErrorHandling: true)
                        try pipeline.addHandler(LoopbackHandler(limits: limits, answering: answering))
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

    /// Accepts nobody new from the moment this returns, and has `run()` return; silent where it is closed
    /// already. Who is connected by now is still answered.
    package func close() async {
        try? await channel.close()
    }

    /// Returns at the graceful shutdown, the cancellation of the task or `close()`, with nobody new accepted.
    ///
    /// - Throws: what the listening socket meets.
    package func run() async throws {
        logger.info("listening", metadata: ["address": "\(address)"])
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await channel.closeFuture.get()
        } onCancelOrGracefulShutdown: { [channel] in
            channel.close(promise: nil)
        }
    }
}

/// The connections there are, oldest first. Used on one event loop.
private final class LoopbackGuests {
    private let limit: Int
    private var channels: [any Channel] = []

    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// Lets a connection in, and the oldest one go where there is no room.
    func arrive(_ channel: any Channel) {
        if channels.count >= limit { channels.removeFirst().close(promise: nil) }
        channels.append(channel)
        let guests = NIOLoopBound(self, eventLoop: channel.eventLoop)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            guests.value.channels.removeAll { $0 === channel }
        }
    }
}

/// Closes a connection that sends more than a request may have.
private final class ByteCeiling: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var left: Int

    init(limit: Int) {
        left = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        left -= unwrapInboundIn(data).readableBytes
        if left >= 0 {
            context.fireChannelRead(data)
        } else {
            context.close(promise: nil)
        }
    }
}
