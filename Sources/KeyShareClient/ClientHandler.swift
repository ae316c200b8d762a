internal import KeyShareWire
internal import LocalSockets
internal import KeySharing
internal import NIOCore

/// A consumer's end of the wire: checks who serves, sends requests, and gives each reply to its request.
///
/// Everything here runs on the channel's event loop.
final class ClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    typealias Answer = Result<ProviderReply, ConnectionError>

    private struct Waiting {
        var promise: EventLoopPromise<Answer>
        var timeout: Scheduled<Void>
    }

    private let acceptsServer: @Sendable (PeerIdentity) -> Bool
    private var context: ChannelHandlerContext?
    private var waiting: [UInt32: Waiting] = [:]
    /// Requests that have timed out, and may be answered yet.
    private var late: Set<UInt32> = []
    private var lastID = Wire.noRequest
    private var received = ByteBuffer()
    /// Why nothing can be asked any more.
    private var end: ConnectionError?

    init(acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool) {
        self.acceptsServer = acceptsServer
    }

    /// Sends a request; the promise gets its reply, or why there is none. The promise always succeeds.
    func ask(_ request: ProviderRequest, within timeout: TimeAmount, _ promise: EventLoopPromise<Answer>) {
        guard let context, end == nil else {
            promise.succeed(.failure(end ?? ConnectionError(.closed, "the connection is closed")))
            return
        }
        repeat {
            lastID &+= 1
        } while lastID == Wire.noRequest || waiting[lastID] != nil || late.contains(lastID)
        let id = lastID
        var frame = ByteBuffer()
        do throws(ProviderFailure) {
            try request.encode(id: id, into: &frame)
        } catch {
            promise.succeed(.failure(ConnectionError(error)))
            return
        }
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            late.insert(id)
            waiting.removeValue(forKey: id)?.promise.succeed(
                .failure(ConnectionError(.timedOut, "the provider did not answer in time")))
        }
        waiting[id] = Waiting(promise: promise, timeout: deadline)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        let server = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor in
            PeerIdentity(descriptor: descriptor)
        }
        // Before a byte is sent: even the hello is nothing for another user's program.
        guard let server = server ?? nil, acceptsServer(server) else {
            finish(ConnectionError(.wrongOwner, "the socket is served by another user"))
            return
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if received.readableBytes == 0 {
            received = bytes
        } else {
            received.discardReadBytes()
            received.writeImmutableBuffer(bytes)
        }
        do throws(ProviderFailure) {
            while let frame = try Frame.next(from: &received, limit: Wire.replyLimit) {
                try take(frame)
            }
        } catch {
            finish(ConnectionError(.malformedReply, error.message))
        }
        if received.readableBytes == 0 {
            received = ByteBuffer()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(ConnectionError(.closed, "the provider closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(ConnectionError(.closed, "the connection broke: \(error)"))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(ConnectionError(.closed, "the connection is closed"))
        self.context = nil
    }

    private func take(_ frame: Frame) throws(ProviderFailure) {
        let reply = try ProviderReply(frame)
        if case .password = reply {
            // The reply has its own copy, which wipes itself.
            frame.body.overwrite()
        }
        if let answered = waiting.removeValue(forKey: frame.requestID) {
            answered.timeout.cancel()
            answered.promise.succeed(.success(reply))
        } else if frame.requestID == Wire.noRequest, case .failure(let failure) = reply {
            finish(ConnectionError(failure))
        } else if late.remove(frame.requestID) == nil {
            throw ProviderFailure(.malformed, "the provider answered what it was not asked")
        }
    }

    /// Ends everything for one reason, the first one given.
    private func finish(_ reason: ConnectionError) {
        end = end ?? reason
        let unanswered = waiting.values
        waiting = [:]
        for request in unanswered {
            request.timeout.cancel()
            request.promise.succeed(.failure(end ?? reason))
        }
        context?.close(promise: nil)
    }
}
