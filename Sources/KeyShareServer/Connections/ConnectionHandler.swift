internal import KeyShareProtocol
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import PersistentToken

/// The channel handler of a connection. It carries out the actions of the connection's `ProtocolSession`: writes,
/// timers, and calls to the provider.
///
/// It is a channel handler instead of an async channel for speed. A password is returned in the same turn of the event
/// loop that read the request, without a thread switch, which would cost more than everything else. All code here runs
/// on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The connection's sequence number.
    let id: Int
    let peer: PeerIdentity
    let service: any ProviderService
    let registry: ConnectionRegistry
    let logger: Logger

    var session: ProtocolSession
    private var context: ChannelHandlerContext?
    /// The time of the event that is being handled.
    var now: NIODeadline
    /// Writes the replies.
    let writer = ReplyWriter()
    /// The reason to close the connection after its last bytes are written; nil while it stays open.
    private var closing: ProtocolSession.CloseReason?
    /// Whether NIO requested a read that waits until the session can receive again.
    private var isReadHeldBack = false
    /// Whether the registry was notified of this connection's hello.
    private var hasReportedHello = false
    /// The version of the session's content (`contentVersion`) that was last reported to the registry.
    private var reportedContent = 0
    /// The unsent bytes that were last reported to the registry.
    private var reportedUnsent = 0
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// Whether this connection subscribes to events. Its own requests are not reported as events.
    private(set) var isSubscriber = false
    /// The multipart messages that are not complete yet.
    var messages: MultipartSignatures
    /// The number of key uses that were computed on the event loop for the last read. If a read contains many requests,
    /// the remaining ones are computed on other threads, so that no client occupies the loop.
    var computed = 0
    /// Calls to the provider that have no outcome yet, keyed by the session's token.
    var pendingCalls: [Int: PendingCall] = [:]

    /// The kind and id of a pending call.
    enum PendingCall {
        /// The provider looks something up.
        case lookup(id: Int)
        /// A key is opened, which may wait for the user.
        case keyOpening(id: Int)
        /// An open key signs, decrypts or agrees on a secret.
        case keyUse(id: Int)
        /// The provider creates an export for only this connection.
        case export(id: Int)
        /// The provider creates an export that other connections may also wait for.
        case shared(CoalescedCalls.Key)
    }

    init(id: Int, peer: PeerIdentity, registry: ConnectionRegistry) {
        self.id = id
        self.peer = peer
        self.registry = registry
        self.service = registry.service
        self.now = .now()
        var versions = Wire.versions
        if case .versions(let spoken) = registry.fault { versions = spoken }
        self.session = ProtocolSession(
            limits: registry.limits, serverName: registry.serverName,
            services: registry.services, versions: versions, features: registry.features, at: now)
        self.messages = MultipartSignatures(limit: registry.limits.messages)
        var logger = registry.logger
        logger[metadataKey: "connection"] = "\(id)"
        self.logger = logger
    }

    /// The time when the connection became idle; nil while a request or a reply is outstanding.
    var idleSince: NIODeadline? { session.idleSince }
}

// MARK: - Events of the channel

extension ConnectionHandler {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // `handlerRemoved` breaks the reference cycle.
        writer.attach(to: context) { [self] count, isDeferred in
            session.sent(count, at: now)
            guard isDeferred else { return }
            registry.endExpiredGrants()
            now = .now()
            processActions()
        }
    }

    func channelActive(context: ChannelHandlerContext) {
        logger.debug(
            "connection opened", metadata: ["uid": "\(peer.userID)", "pid": "\(peer.processID)"])
        reportEvent(.opened)
        writer.enableDirectWrites()
        processActions()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        writer.disableDirectWrites()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        now = .now()
        registry.recordRead(by: id, at: now)
        computed = 0
        session.recordsRequests = isObserved
        session.receive(unwrapInboundIn(data), at: now)
        registry.replyScheduler.schedule(self)
    }

    /// Answers the received requests, unless the channel has closed.
    func processRequests(at now: NIODeadline) {
        guard let context, context.channel.isActive else { return }
        self.now = now
        processActions()
    }

    /// Begins to answer the received requests, and leaves the write to `batch`. `processRequests(at:)` finishes.
    func beginProcessing(at now: NIODeadline, writingTo batch: VectoredWriter) {
        guard let context, context.channel.isActive else { return }
        self.now = now
        takeActions()
        if writer.beginBatchWrite() { batch.addWrite(of: self) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            if let descriptor = writer.descriptor, ListeningSocket.hasPeerLeft(descriptor) {
                // The client no longer waits for the replies to its earlier requests.
                close(.peerClosed)
            } else {
                session.endInput()
                registry.replyScheduler.schedule(self)
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
        reportEvent(.closed, (closing ?? .peerClosed).rawValue)
        self.context = nil
        timer?.task.cancel()
        timer = nil
        cancelPendingCalls()
        writer.detach()
        registry.recordContent([], of: id, peer.processID)
        registry.recordUnsent(-reportedUnsent, of: id, peer.processID)
        registry.remove(id)
    }

    /// Drops content to make room for the content of other connections.
    func evict(_ content: ContentBudget.Content) {
        now = .now()
        session.evict(content)
        processActions()
    }

    /// Answers the pending request for events.
    private func finishEventsRequest(_ reply: ProviderReply) {
        registry.endExpiredGrants()
        now = .now()
        session.finishEventsRequest(reply)
        processActions()
    }

    /// Ends all grants of the connection. Reads that wait for content fail with `notAvailable`.
    func endGrants() {
        now = .now()
        session.endGrants()
        processActions()
    }

    /// Finishes the outstanding requests, and then closes the connection.
    func drain() {
        now = .now()
        session.drain()
        processActions()
    }

    /// Closes the connection immediately. Unwritten bytes are lost.
    func close(_ reason: ProtocolSession.CloseReason) {
        closing = closing ?? reason
        writer.disableDirectWrites()
        context?.close(promise: nil)
    }
}

// MARK: - Actions of the session

extension ConnectionHandler {
    /// Carries out the session's actions until none is left, and writes the resulting replies.
    func processActions() {
        repeat {
            takeActions()
        } while writer.flush()
        if !hasReportedHello, session.hasSaidHello {
            hasReportedHello = true
            registry.markReady(id)
        }
        if session.contentVersion != reportedContent {
            reportedContent = session.contentVersion
            registry.recordContent(session.heldContent, of: id, peer.processID)
        }
        // The client reads promptly, so no bytes are unsent.
        let unsent = !writer.isWriting || writer.isInBatch ? 0 : session.unsentBytes
        if unsent != reportedUnsent {
            let change = unsent - reportedUnsent
            reportedUnsent = unsent
            registry.recordUnsent(change, of: id, peer.processID)
        }
        if let closing, !writer.isWriting {
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
        // No reply follows one that a fault has cut.
        while closing != .fault, let action = session.next(at: now) {
            execute(action)
        }
    }

    private func execute(_ action: ProtocolSession.Action) {
        switch action {
        case .password(let identifier, let requestID):
            do throws(ProviderFailure) {
                sendReply(.password(try service.password(for: identifier)), requestID, of: identifier)
            } catch {
                sendReply(.failure(error), requestID, of: identifier)
            }
        case .statistics(let requestID):
            sendReply(.statistics(registry.figures), requestID)
        case .awaitEvents(let after, let wait):
            isSubscriber = true
            let reply = registry.feed.subscribe(id, after: after, wait: wait) { [weak self] in
                self?.finishEventsRequest($0)
            }
            if let reply { session.finishEventsRequest(reply) }
        case .message(let step, let requestID):
            sendReply(
                service.token.map { messages.apply(step, $0) } ?? .failure(ProtocolSession.noToken), requestID
            )
        case .reply(let reply, let requestID):
            sendReply(reply, requestID)
        case .send(let frame):
            writer.replies.append(frame)
            registry.answers += 1
            let type = frame.getInteger(at: frame.readerIndex + 4, as: UInt8.self)
            let count = applyCut(frame.readableBytes, type)
            session.queued(count, at: now)
            reportRequest(of: frame, count)
            logger.debug("answered", metadata: ["bytes": "\(count)"])
        case .call(let call, let token, let requestID):
            submit(call, token: token, requestID: requestID)
        case .close(let reason):
            closing = closing ?? reason
        }
    }

    /// Encodes a reply. A reply that does not fit in a frame becomes `internalError`.
    private func sendReply(_ reply: ProviderReply, _ requestID: UInt32, of identifier: String? = nil) {
        let before = writer.replies.bytes.readableBytes
        do throws(ProviderFailure) {
            do throws(ProviderFailure) {
                try writer.replies.append(reply, requestID: requestID)
            } catch {
                let failure = ProviderFailure(.internalError, "the reply does not fit in a frame")
                try writer.replies.append(.failure(failure), requestID: requestID)
            }
        } catch {
            // This cannot happen: a failure with one short sentence always fits in a frame.
            logger.error("a failure could not be encoded", metadata: ["error": "\(error)"])
        }
        registry.answers += 1
        let count = applyCut(writer.replies.bytes.readableBytes - before, reply.messageType.rawValue)
        session.queued(count, at: now)
        reportRequest(of: reply, requestID, count)
        logger.debug("answered", metadata: Self.metadata(of: reply, requestID, identifier, count))
    }

    /// Applies the `cut` fault to the last `count` bytes, which are a reply of `type`.
    ///
    /// - Returns: The number of bytes left to send: all, unless the fault cuts this type.
    private func applyCut(_ count: Int, _ type: UInt8?) -> Int {
        guard case .cut(let cut) = registry.fault, cut.rawValue == type else { return count }
        writer.replies.dropLast(count - count / 2)
        closing = closing ?? .fault
        return count / 2
    }

    /// Sets the connection's one timer. It is moved only to an earlier deadline, so that a busy connection does not set
    /// a timer for every request. A timer that fires too early is set again.
    private func armTimer() {
        guard let context, let deadline = session.deadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            // Requests that were read in time are not late.
            registry.replyScheduler.processAll()
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
