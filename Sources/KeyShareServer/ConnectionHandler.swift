internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import PersistentToken

/// The channel handler of a connection: it carries out what the connection's `Session` decides, which is writes,
/// timers, and questions to the provider.
///
/// It is a channel handler and not an async channel for speed: a password is answered within the turn of the event loop
/// that read the request, and without a switch to another thread, which would cost more than the rest.
/// Everything here runs on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The number of the connection, in the order of arrival.
    let id: Int
    let peer: PeerIdentity
    let service: any ProviderService
    let registry: ConnectionRegistry
    let logger: Logger

    var session: Session
    private var context: ChannelHandlerContext?
    private(set) var socket = ReplySocket()
    /// The time of the event that is being handled.
    var now: NIODeadline
    private var replies = ReplyBuffer()
    /// The bytes that are being written. There is one write at a time, so that all other bytes wait in `replies`, where
    /// they are counted.
    private var inFlight: (bytes: ByteBuffer, isSecret: Bool)?
    /// Whether the write under way waits for the others of its batch.
    private var isInBatch = false
    /// The memory of the last write, for the next one.
    private var spare = ByteBuffer()
    /// Why the connection closes once its last bytes are written; nil while it stays.
    private var closing: Session.CloseReason?
    /// Whether NIO asked for a read that waits until the session can receive again.
    private var isReadHeldBack = false
    /// Whether the registry knows that this connection has said hello.
    private var hasReportedHello = false
    /// The content that the registry counts for this connection, by the session's number of it.
    private var reportedContent = 0
    /// The unsent bytes that the registry counts for this connection.
    private var reportedUnsent = 0
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// Whether this connection asks for events, of which its own requests are none.
    private(set) var isSubscriber = false
    /// The messages whose parts are arriving.
    var messages: TokenMessages
    /// How many uses were computed on the event loop in answer to the last read. Of many requests that arrive together
    /// the others go to other threads, so that no peer holds the loop.
    var computed = 0
    /// Questions to the provider that are not answered yet, by the session's token.
    var questions: [Int: Question] = [:]

    /// Where a question to the provider stands.
    enum Question {
        /// The provider looks something up.
        case lookUp(work: Int)
        /// A key is opened, which may wait for the user.
        case opening(work: Int)
        /// A key is used.
        case using(work: Int)
        /// The provider makes something for this connection alone.
        case making(work: Int)
        /// The provider makes something that others may wait for, too.
        case shared(SharedWork.Key)
    }

    init(id: Int, peer: PeerIdentity, registry: ConnectionRegistry) {
        self.id = id
        self.peer = peer
        self.registry = registry
        self.service = registry.service
        self.now = .now()
        var versions = Wire.versions
        if case .versions(let spoken) = registry.fault { versions = spoken }
        self.session = Session(
            limits: registry.limits, serverName: registry.serverName,
            services: registry.services, versions: versions, features: registry.features, at: now)
        self.messages = TokenMessages(limit: registry.limits.messages)
        var logger = registry.logger
        logger[metadataKey: "connection"] = "\(id)"
        self.logger = logger
    }

    /// The time since which the connection is idle; nil while a request or a reply is outstanding.
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
        tell(.opened)
        socket = ReplySocket(of: context)
        process()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        socket = ReplySocket()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        now = .now()
        registry.noteRead(by: id, at: now)
        computed = 0
        session.notesRequests = !isSubscriber && registry.feed.isActive
        session.receive(unwrapInboundIn(data), at: now)
        registry.round.answer(self)
    }

    /// Answers what has been read, unless the channel has closed since.
    func answer(at now: NIODeadline) {
        guard let context, context.channel.isActive else { return }
        self.now = now
        process()
    }

    /// Begins to answer what has been read, and leaves the write to `batch`; `answer(at:)` finishes.
    func beginAnswer(at now: NIODeadline, in batch: ReplyBatch) {
        guard let context, context.channel.isActive else { return }
        self.now = now
        takeActions()
        if socket.descriptor != nil, beginWrite() {
            isInBatch = true
            batch.add(self)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            if let descriptor = socket.descriptor, ListeningSocket.hasPeerLeft(descriptor) {
                // Nobody waits for answers to what came before.
                close(.peerClosed)
            } else {
                session.endInput()
                registry.round.answer(self)
            }
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
        tell(.closed, (closing ?? .peerClosed).rawValue)
        self.context = nil
        timer?.task.cancel()
        timer = nil
        abandonQuestions()
        if replies.isSecret {
            replies.bytes.overwrite()
        }
        registry.noteContent([], of: id, peer.processID)
        registry.noteUnsent(-reportedUnsent, of: id, peer.processID)
        registry.remove(id)
    }

    /// Drops content that others need the room of.
    func takeBack(_ piece: ContentLedger.Piece) {
        now = .now()
        session.takeBack(piece)
        process()
    }

    /// Answers the request for events.
    private func answerEvents(_ reply: ProviderReply) {
        registry.endOldGrants()
        now = .now()
        session.answerEvents(reply)
        process()
    }

    /// Ends all grants of the connection. Reads that wait for content fail with `notAvailable`.
    func endGrants() {
        now = .now()
        session.endGrants()
        process()
    }

    /// Finishes the outstanding requests, and closes.
    func drain() {
        now = .now()
        session.drain()
        process()
    }

    /// Closes at once. Bytes that were not written are lost.
    func close(_ reason: Session.CloseReason) {
        closing = closing ?? reason
        socket = ReplySocket()
        context?.close(promise: nil)
    }
}

// MARK: - Actions of the session

extension ConnectionHandler {
    /// Takes actions from the session until there is none, and writes what they produced.
    func process() {
        repeat {
            takeActions()
        } while flush()
        if !hasReportedHello, session.hasSaidHello {
            hasReportedHello = true
            registry.markReady(id)
        }
        if session.contentVersion != reportedContent {
            reportedContent = session.contentVersion
            registry.noteContent(session.heldContent, of: id, peer.processID)
        }
        // A peer that reads at once never has anything unsent here.
        let unsent = inFlight == nil || isInBatch ? 0 : session.unsentBytes
        if unsent != reportedUnsent {
            let change = unsent - reportedUnsent
            reportedUnsent = unsent
            registry.noteUnsent(change, of: id, peer.processID)
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

    private func takeActions() {
        // Nothing follows a reply that a fault has cut.
        while closing != .fault, let action = session.next(at: now) {
            perform(action)
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
        case .statistics(let requestID):
            send(.statistics(registry.figures), requestID)
        case .awaitEvents(let after, let wait):
            isSubscriber = true
            let reply = registry.feed.subscribe(id, after: after, wait: wait) { [weak self] in
                self?.answerEvents($0)
            }
            if let reply { session.answerEvents(reply) }
        case .message(let step, let requestID):
            send(
                service.token.map { messages.take(step, $0) } ?? .failure(Session.noToken), requestID)
        case .reply(let reply, let requestID):
            send(reply, requestID)
        case .send(let frame):
            replies.append(frame)
            registry.answers += 1
            let type = frame.getInteger(at: frame.readerIndex + 4, as: UInt8.self)
            let count = applyCut(frame.readableBytes, type)
            session.queued(count, at: now)
            tell(of: frame, count)
            logger.debug("answered", metadata: ["bytes": "\(count)"])
        case .perform(let work, let token, let requestID):
            ask(work, token: token, requestID: requestID)
        case .close(let reason):
            closing = closing ?? reason
        }
    }

    /// Encodes a reply. A reply that does not fit a frame becomes `internalError`.
    private func send(_ reply: ProviderReply, _ requestID: UInt32, of identifier: String? = nil) {
        let before = replies.bytes.readableBytes
        do throws(ProviderFailure) {
            do throws(ProviderFailure) {
                try replies.append(reply, requestID: requestID)
            } catch {
                let failure = ProviderFailure(.internalError, "the answer does not fit a frame")
                try replies.append(.failure(failure), requestID: requestID)
            }
        } catch {
            // This cannot happen: a failure of one short sentence always fits a frame.
            logger.error("a failure could not be encoded", metadata: ["error": "\(error)"])
        }
        registry.answers += 1
        let count = applyCut(replies.bytes.readableBytes - before, reply.messageType.rawValue)
        session.queued(count, at: now)
        tell(of: reply, requestID, count)
        logger.debug("answered", metadata: Self.metadata(of: reply, requestID, identifier, count))
    }

    /// Applies the fault that cuts a reply to the last `count` bytes, which are a reply of `type`.
    ///
    /// - Returns: How many of the bytes are left to send: all, unless the fault cuts this type.
    private func applyCut(_ count: Int, _ type: UInt8?) -> Int {
        guard case .cut(let cut) = registry.fault, cut.rawValue == type else { return count }
        replies.dropLast(count - count / 2)
        closing = closing ?? .fault
        return count / 2
    }

    /// The bytes that are being written; none while no write is begun.
    var bytesInFlight: ByteBuffer { inFlight?.bytes ?? ByteBuffer() }

    /// Hands the encoded replies to the socket, and what the socket does not take at once to the channel.
    ///
    /// - Returns: Whether they were written within this call.
    private func flush() -> Bool {
        guard beginWrite() else { return false }
        return endWrite(after: socket.send(bytesInFlight))
    }

    /// Begins to write the encoded replies, unless there are none or a write is under way.
    private func beginWrite() -> Bool {
        guard context != nil, inFlight == nil, replies.bytes.readableBytes > 0 else { return false }
        inFlight = replies.take(reusing: &spare)
        return true
    }

    /// Ends the write that was begun, of which the socket took `count` bytes; the channel gets the others.
    ///
    /// - Returns: Whether they were written within this call.
    @discardableResult func endWrite(after count: Int) -> Bool {
        isInBatch = false
        var rest = bytesInFlight
        rest.moveReaderIndex(forwardBy: count)
        guard let context, rest.readableBytes > 0 else {
            finishWrite()
            return true
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        var isWithinCall = true
        var isWritten = false
        promise.futureResult.assumeIsolated().whenComplete { [self] result in
            isWritten = true
            // The channel may have closed the descriptor, which is somebody else's then.
            if case .failure = result { socket = ReplySocket() }
            if !isWithinCall {
                finishWrite()
                registry.endOldGrants()
                now = .now()
                process()
            }
        }
        context.writeAndFlush(wrapOutboundOut(rest), promise: promise)
        isWithinCall = false
        if isWritten {
            finishWrite()
        }
        return isWritten
    }

    /// Ends a write, whether it succeeded or failed, and overwrites its bytes if they held a password. After a failed
    /// write the channel closes.
    private func finishWrite() {
        guard let written = inFlight.take() else { return }
        if written.isSecret {
            written.bytes.overwrite()
        }
        session.sent(written.bytes.readableBytes, at: now)
        // The memory of a long reply is not kept: it would stay for as long as the connection.
        if written.bytes.capacity <= 4_096 {
            spare = written.bytes
        }
    }

    /// Sets the connection's one timer. It is moved only to an earlier deadline, so that a busy connection does not set
    /// a timer for every request; a timer that fires too early is set anew.
    private func armTimer() {
        guard let context, let deadline = session.deadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            // What has been read in time is not late.
            registry.round.answerAll()
            now = .now()
            if let reason = session.expire(at: now) {
                close(reason)
            } else {
                armTimer()
            }
        }
        timer = (deadline, task)
    }

    /// The fields of the log line for a reply: types, sizes and identifiers, never content.
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
            metadata["item"] = "\(identifier.logSafe)"
        }
        return metadata
    }
}
