internal import KeyShareWire
internal import LocalSockets
internal import KeySharing
internal import Logging
internal import NIOCore

/// Carries out what a connection's `Session` decides: writes, timers, questions to the provider.
///
/// A channel handler and not an async channel: a password is answered within the read that asked for it,
/// with one `read` and one `write` and no switch to another thread, which is most of what a fetch costs.
/// Everything here runs on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: Int
    private let peer: PeerIdentity
    private let service: any ProviderService
    private let connections: Connections
    private let logger: Logger

    private var session: Session
    private var context: ChannelHandlerContext?
    private var now: NIODeadline
    private var outbox = Outbox()
    /// What the channel is writing; there is one write at a time, so that what waits stays here, counted.
    private var inFlight: (bytes: ByteBuffer, isSecret: Bool)?
    /// The memory of the last write, to be used again.
    private var spare = ByteBuffer()
    private var closing: Session.CloseReason?
    private var isReadHeldBack = false
    private var hasReportedHello = false
    private var reportedBytes = 0
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var tasks: [Int: Task<Void, Never>] = [:]

    init(id: Int, peer: PeerIdentity, connections: Connections) {
        self.id = id
        self.peer = peer
        self.connections = connections
        self.service = connections.service
        self.now = .now()
        var versions = Wire.versions
        if case .versions(let spoken) = connections.fault { versions = spoken }
        self.session = Session(
            limits: connections.limits, serverName: connections.serverName,
            services: connections.services, versions: versions, at: now)
        var logger = connections.logger
        logger[metadataKey: "connection"] = "\(id)"
        self.logger = logger
    }

    /// Since when there has been nothing to do; nil while there is.
    var idleSince: NIODeadline? { session.idleSince }
}

// MARK: - Events of the channel

extension ConnectionHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        logger.debug(
            "connection opened", metadata: ["uid": "\(peer.userID)", "pid": "\(peer.processID)"])
        process()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connections.endOldGrants()
        now = .now()
        session.receive(unwrapInboundIn(data), at: now)
        process()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            now = .now()
            session.endInput()
            process()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        if session.canReceive {
            context.read()
        } else {
            isReadHeldBack = true
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("connection failed", metadata: ["error": "\(error)"])
        close(.peerClosed)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        logger.debug("connection closed", metadata: ["reason": "\((closing ?? .peerClosed).rawValue)"])
        self.context = nil
        timer?.task.cancel()
        timer = nil
        for task in tasks.values {
            task.cancel()
        }
        tasks = [:]
        if outbox.isSecret {
            outbox.bytes.overwrite()
        }
        connections.released(reportedBytes)
        reportedBytes = 0
        connections.left(id)
    }

    /// Ends all grants; reads that wait for content are told so.
    func endGrants() {
        now = .now()
        session.endGrants()
        process()
    }

    /// Finishes what is being answered, and closes.
    func drain() {
        now = .now()
        session.drain()
        process()
    }

    /// Closes at once; what was not sent is lost.
    func close(_ reason: Session.CloseReason) {
        closing = closing ?? reason
        context?.close(promise: nil)
    }
}

// MARK: - Actions of the session

extension ConnectionHandler {
    private func process() {
        repeat {
            while let action = session.next(at: now) {
                perform(action)
            }
        } while flush()
        if !hasReportedHello, session.hasSaidHello {
            hasReportedHello = true
            connections.saidHello(id)
        }
        if session.heldBytes != reportedBytes {
            connections.holds(session.heldBytes - reportedBytes)
            reportedBytes = session.heldBytes
        }
        if let closing, inFlight == nil {
            close(closing)
            return
        }
        armTimer()
        if isReadHeldBack, session.canReceive {
            isReadHeldBack = false
            context?.read()
        }
    }

    private func perform(_ action: Session.Action) {
        switch action {
        case .password(let identifier, let requestID):
            do throws(ProviderFailure) {
                send(.password(try service.password(for: identifier)), requestID, of: identifier)
            } catch {
                send(.failure(error), requestID, of: identifier)
            }
        case .reply(let reply, let requestID):
            send(reply, requestID)
        case .send(let frame):
            outbox.append(frame)
            let type = frame.getInteger(at: frame.readerIndex + 4, as: UInt8.self)
            let count = shortened(frame.readableBytes, type)
            session.queued(count, at: now)
            logger.debug("answered", metadata: ["bytes": "\(count)"])
        case .perform(let work, let token, let requestID):
            ask(work, token: token, requestID: requestID)
        case .close(let reason):
            closing = closing ?? reason
        }
    }

    private func send(_ reply: ProviderReply, _ requestID: UInt32, of identifier: String? = nil) {
        let before = outbox.bytes.readableBytes
        do throws(ProviderFailure) {
            do throws(ProviderFailure) {
                try outbox.append(reply, requestID: requestID)
            } catch {
                let failure = ProviderFailure(.internalError, "the answer does not fit a frame")
                try outbox.append(.failure(failure), requestID: requestID)
            }
        } catch {
            // A failure of one short sentence always fits.
            logger.error("a failure could not be encoded", metadata: ["error": "\(error)"])
        }
        let count = shortened(outbox.bytes.readableBytes - before, reply.messageType.rawValue)
        session.queued(count, at: now)
        logger.debug("answered", metadata: Self.metadata(of: reply, requestID, identifier, count))
    }

    /// How many of the last reply's bytes are left to send: all, unless the fault is to cut it.
    private func shortened(_ count: Int, _ type: UInt8?) -> Int {
        guard case .cut(let cut) = connections.fault, cut.rawValue == type else { return count }
        outbox.dropLast(count - count / 2)
        closing = closing ?? .fault
        return count / 2
    }

    private func ask(_ work: SessionWork, token: Int, requestID: UInt32) {
        guard let context else { return }
        logger.debug("asked", metadata: ["request": "\(requestID)", "work": "\(LogText.of(work))"])
        let box = NIOLoopBound(self, eventLoop: context.eventLoop)
        tasks[token] = Task { [service, entrance = connections.entrance] in
            let outcome = await work.ask(service, requestID: requestID)
            entrance.execute { box.value.complete(token, outcome) }
        }
    }

    private func complete(_ token: Int, _ outcome: SessionWork.Outcome) {
        guard tasks.removeValue(forKey: token) != nil else { return }
        connections.endOldGrants()
        now = .now()
        session.complete(token, with: connections.withinBudget(outcome), at: now)
        process()
    }

    /// Hands what is encoded to the channel; whether it was written within the call.
    private func flush() -> Bool {
        guard let context, inFlight == nil, outbox.bytes.readableBytes > 0 else { return false }
        let sending = outbox.take(leaving: spare)
        spare = ByteBuffer()
        inFlight = sending
        let promise = context.eventLoop.makePromise(of: Void.self)
        var isWithinCall = true
        var isWritten = false
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            isWritten = true
            if !isWithinCall {
                now = .now()
                finishWrite()
                process()
            }
        }
        context.writeAndFlush(wrapOutboundOut(sending.bytes), promise: promise)
        isWithinCall = false
        if isWritten {
            finishWrite()
        }
        return isWritten
    }

    /// Failed writes end here too: the channel closes after them, and the secret goes all the same.
    private func finishWrite() {
        guard let written = inFlight.take() else { return }
        if written.isSecret {
            written.bytes.overwrite()
        }
        session.sent(written.bytes.readableBytes, at: now)
        // One long answer must not keep its memory for as long as the connection lives.
        if written.bytes.capacity <= 4_096 {
            spare = written.bytes
        }
    }

    /// One timer a connection, moved only when the deadline comes nearer: a busy connection sets none.
    private func armTimer() {
        guard let context, let deadline = session.deadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            now = .now()
            if let reason = session.expire(at: now) {
                close(reason)
            } else {
                armTimer()
            }
        }
        timer = (deadline, task)
    }

    private static func metadata(
        of reply: ProviderReply, _ requestID: UInt32, _ identifier: String?, _ count: Int
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "request": "\(requestID)", "reply": "\(reply.messageType)", "bytes": "\(count)",
        ]
        if case .failure(let failure) = reply {
            metadata["outcome"] = "\(failure.code)"
        }
        if let identifier {
            metadata["item"] = "\(LogText.of(identifier))"
        }
        return metadata
    }
}
