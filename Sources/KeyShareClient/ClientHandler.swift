internal import KeyShareProtocol
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import NIOCore

/// The channel handler of a consumer's connection. It checks the user ID of the server process, sends requests, and
/// matches each reply to its request.
///
/// All methods run on the channel's event loop.
final class ClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct PendingRequest {
        var promise: EventLoopPromise<ProviderReply>
        var timeout: Scheduled<Void>
    }

    private let acceptsServer: @Sendable (PeerIdentity) -> Bool
    private var context: ChannelHandlerContext?
    private var pending: [UInt32: PendingRequest] = [:]
    /// The IDs of requests that timed out. A late reply may still arrive, so an ID is not reused until then.
    private var timedOut: Set<UInt32> = []
    private var lastID = Wire.noRequest
    private var received = ByteBuffer()
    /// The longest frame that the provider accepts, in bytes.
    private var requestLimit = Wire.requestLimit
    /// The reason why the connection ended. Nil while requests can be sent.
    private var end: (any Error)?

    init(acceptsServer: @escaping @Sendable (PeerIdentity) -> Bool) {
        self.acceptsServer = acceptsServer
    }

    /// Sends a request and completes `promise` with its reply.
    ///
    /// The promise fails with the provider's `ProviderFailure` or `TokenError`, with `refused` if the request does not
    /// fit in a frame, or with a `SocketError`: `closed`, `timedOut`, `malformedReply`, `wrongOwner`.
    func send(
        _ request: ProviderRequest, within timeout: TimeAmount, _ promise: EventLoopPromise<ProviderReply>
    ) {
        guard let context, end == nil else {
            promise.fail(end ?? SocketError(.closed, "the connection is closed"))
            return
        }
        repeat {
            lastID &+= 1
        } while lastID == Wire.noRequest || pending[lastID] != nil || timedOut.contains(lastID)
        let id = lastID
        var frame = ByteBuffer()
        do throws(ProviderFailure) {
            try request.encode(id: id, into: &frame, limit: requestLimit)
        } catch {
            promise.fail(error)
            return
        }
        let deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            timedOut.insert(id)
            pending.removeValue(forKey: id)?.promise.fail(
                SocketError(.timedOut, "the provider did not reply in time"))
        }
        pending[id] = PendingRequest(promise: promise, timeout: deadline)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    /// Asks the kernel for the server's user ID before sending any byte (docs/rules.md R6.13).
    func channelActive(context: ChannelHandlerContext) {
        let server = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor in
            PeerIdentity(descriptor: descriptor)
        }
        // Not even the hello is sent, because it reveals information to another user's process.
        guard let server = server ?? nil, acceptsServer(server) else {
            finish(SocketError(.wrongOwner, "the provider on this socket belongs to another user"))
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
                try receiveReply(frame)
            }
        } catch {
            finish(SocketError(.malformedReply, error.reason))
        }
        if received.readableBytes == 0 {
            received = ByteBuffer()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(SocketError(.closed, "the provider closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(SocketError(.closed, "the connection failed: \(error)"))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(SocketError(.closed, "the connection is closed"))
        self.context = nil
    }

    /// Completes the request that `frame` answers.
    ///
    /// - Throws: `malformed` if the frame is not a reply, or does not match a pending request.
    private func receiveReply(_ frame: Frame) throws(ProviderFailure) {
        let reply = try ProviderReply(frame)
        if case .welcome(let welcome) = reply {
            requestLimit = min(max(welcome.requestLimit, Wire.requestLimit), Wire.longRequestLimit)
        }
        if reply.secret != nil {
            // The reply has its own copy, which wipes itself. Wipe the bytes of the frame here.
            frame.body.overwrite()
        }
        if let answered = pending.removeValue(forKey: frame.requestID) {
            answered.timeout.cancel()
            switch reply {
            case .failure(let failure): answered.promise.fail(failure)
            case .tokenFailure(let error): answered.promise.fail(error)
            default: answered.promise.succeed(reply)
            }
        } else if frame.requestID == Wire.noRequest, case .failure(let failure) = reply {
            finish(failure)
        } else if timedOut.remove(frame.requestID) == nil {
            throw ProviderFailure(.malformed, "the provider sent a reply without a request")
        }
    }

    /// Fails every pending request and closes the channel. Later requests fail with the first `reason`.
    private func finish(_ reason: any Error) {
        let first = end ?? reason
        end = first
        let unanswered = pending.values
        pending = [:]
        for request in unanswered {
            request.timeout.cancel()
            request.promise.fail(first)
        }
        context?.close(promise: nil)
    }
}
