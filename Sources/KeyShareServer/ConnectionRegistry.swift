internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore

/// The connections of a server, with what they share: admission, the period of grants, the memory budget.
///
/// It is used on the server's one event loop only, and therefore needs no lock.
final class ConnectionRegistry {
    let service: any ProviderService
    let limits: ProviderServer.Limits
    let serverName: String
    let services: [String]
    let fault: ConnectionFault?
    let logger: Logger
    let loop: ClosableEventLoop

    private var handlers: [Int: ConnectionHandler] = [:]
    private var policy: AdmissionPolicy
    private var lastID = 0
    private var heldBytes = 0
    private var isDraining = false
    /// The provider's period of grants when it was asked last; nil where the provider could not tell.
    private var grantPeriod: UInt64?
    /// When each warning was logged last.
    private var warnings: [String: NIODeadline] = [:]
    /// Succeeds when the registry is draining and the last connection has ended.
    private let emptied: EventLoopPromise<Void>

    init(
        service: any ProviderService, limits: ProviderServer.Limits, serverName: String, services: [String],
        fault: ConnectionFault?, logger: Logger, emptied: EventLoopPromise<Void>, loop: ClosableEventLoop
    ) {
        self.service = service
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.fault = fault
        self.logger = logger
        self.emptied = emptied
        self.loop = loop
        self.policy = AdmissionPolicy(limit: limits.connections, limitPerPeer: limits.connectionsPerPeer)
        self.grantPeriod = try? service.grantPeriod()
    }

    /// Admits a new connection, and closes another one for it where the policy says so.
    ///
    /// - Returns: The new connection's handler; nil where the connection must be closed.
    func admit(_ peer: PeerIdentity) -> ConnectionHandler? {
        guard !isDraining else { return nil }
        lastID += 1
        switch policy.admit(
            lastID, process: peer.processID, idleSince: { [handlers] in handlers[$0]?.idleSince })
        {
        case .refuse:
            return nil
        case .admit:
            break
        case .admitInstead(let other):
            handlers[other]?.close(.evicted)
        }
        let handler = ConnectionHandler(id: lastID, peer: peer, registry: self)
        handlers[lastID] = handler
        return handler
    }

    /// Closes one connection so that its descriptor can serve another.
    ///
    /// - Returns: Whether there was a connection to close.
    func evictOne() -> Bool {
        guard let victim = policy.evict(idleSince: { [handlers] in handlers[$0]?.idleSince })
        else { return false }
        handlers[victim]?.close(.evicted)
        return true
    }

    /// Notes that a connection has said hello.
    func markReady(_ id: Int) {
        policy.markReady(id)
    }

    /// Ends the grants of all connections, and drops the content that was kept for them, if the provider's period of
    /// grants has changed (docs/rules.md R6.9, R6.11).
    func endOldGrants() {
        // A provider that cannot tell its period ends all grants, too: nil differs from every number.
        let period = try? service.grantPeriod()
        guard period != grantPeriod else { return }
        grantPeriod = period
        logger.info("all grants end")
        for handler in handlers.values {
            handler.endGrants()
        }
    }

    /// Logs a warning at most once a second, because peers can cause it and must not be able to fill a disk.
    func warn(_ message: String, _ metadata: Logger.Metadata) {
        let now = NIODeadline.now()
        if let last = warnings[message], now < last + .seconds(1) { return }
        warnings[message] = now
        logger.warning("\(message)", metadata: metadata)
    }

    /// Forgets a connection that has ended.
    func remove(_ id: Int) {
        policy.remove(id)
        handlers[id] = nil
        if isDraining, handlers.isEmpty {
            emptied.succeed()
        }
    }

    /// Lets every connection finish its outstanding requests, and admits no new one.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        for handler in handlers.values {
            handler.drain()
        }
        if handlers.isEmpty {
            emptied.succeed()
        }
    }

    /// Closes all connections at once.
    func closeAll() {
        for handler in handlers.values {
            handler.close(.shutdown)
        }
    }
}

// MARK: - Memory

extension ConnectionRegistry {
    /// Adds to the bytes of content that all connections hold; a negative number subtracts.
    func addHeldBytes(_ change: Int) {
        heldBytes += change
    }

    /// Replaces an outcome by `serverBusy` where its content would exceed what all connections may hold together.
    func limited(_ outcome: SessionWork.Outcome) -> SessionWork.Outcome {
        let size =
            switch outcome {
            case .content(let bytes): bytes.count
            case .chosen(let export): export.content.count
            case .encoded, .granted, .failed: 0
            }
        guard size > limits.totalSnapshotBytes - heldBytes else { return outcome }
        return .failed(
            ProviderFailure(.serverBusy, "the provider holds too much content for others; try again later"))
    }
}
