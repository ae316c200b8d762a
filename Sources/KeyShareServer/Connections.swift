internal import KeyShareWire
internal import LocalSockets
internal import KeySharing
internal import Logging
internal import NIOCore

/// All connections of a server: who is there, who must go, how much they hold.
///
/// Lives on the server's one event loop, so it needs no lock; never touched from elsewhere.
final class Connections {
    let service: any ProviderService
    let limits: ProviderServer.Limits
    let serverName: String
    let services: [String]
    let fault: ConnectionFault?
    let logger: Logger
    let entrance: LoopEntrance

    private var handlers: [Int: ConnectionHandler] = [:]
    private var admission: Admission
    private var lastID = 0
    private var heldBytes = 0
    private var isDraining = false
    private var grantPeriod: UInt64?
    private var warnings: [String: NIODeadline] = [:]
    private let emptied: EventLoopPromise<Void>

    init(
        service: any ProviderService, limits: ProviderServer.Limits, serverName: String, services: [String],
        fault: ConnectionFault?, logger: Logger, emptied: EventLoopPromise<Void>, entrance: LoopEntrance
    ) {
        self.service = service
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.fault = fault
        self.logger = logger
        self.emptied = emptied
        self.entrance = entrance
        self.admission = Admission(limit: limits.connections, limitPerPeer: limits.connectionsPerPeer)
        self.grantPeriod = try? service.grantPeriod()
    }

    /// A handler for a newcomer, another connection being closed for it where need be; nil if it must go.
    func arrive(_ peer: PeerIdentity) -> ConnectionHandler? {
        guard !isDraining else { return nil }
        lastID += 1
        switch admission.arrive(
            lastID, process: peer.processID, idleSince: { [handlers] in handlers[$0]?.idleSince })
        {
        case .refuse:
            return nil
        case .admit:
            break
        case .admitInstead(let other):
            handlers[other]?.close(.evicted)
        }
        let handler = ConnectionHandler(id: lastID, peer: peer, connections: self)
        handlers[lastID] = handler
        return handler
    }

    /// Closes one connection so that its descriptor serves another; whether there was one.
    func makeRoom() -> Bool {
        guard let victim = admission.sacrifice(idleSince: { [handlers] in handlers[$0]?.idleSince })
        else { return false }
        handlers[victim]?.close(.evicted)
        return true
    }

    func saidHello(_ id: Int) {
        admission.saidHello(id)
    }

    /// Ends every connection's grants, and lets go of their content, where the provider's time for them is over.
    func endOldGrants() {
        // Not to know is a period of its own.
        let period = try? service.grantPeriod()
        guard period != grantPeriod else { return }
        grantPeriod = period
        logger.info("all grants end")
        for handler in handlers.values {
            handler.endGrants()
        }
    }

    /// Logs a warning that peers can bring about, at most once a second, so that they cannot fill a disk.
    func warn(_ message: String, _ metadata: Logger.Metadata) {
        let now = NIODeadline.now()
        if let last = warnings[message], now < last + .seconds(1) { return }
        warnings[message] = now
        logger.warning("\(message)", metadata: metadata)
    }

    /// The connection is over.
    func left(_ id: Int) {
        admission.leave(id)
        handlers[id] = nil
        if isDraining, handlers.isEmpty {
            emptied.succeed()
        }
    }

    /// Lets every connection finish what is being answered; nobody new is admitted.
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

    /// Closes whoever is left.
    func closeAll() {
        for handler in handlers.values {
            handler.close(.shutdown)
        }
    }
}

// MARK: - Memory

extension Connections {
    /// A connection holds so many bytes of content more, or fewer.
    func holds(_ change: Int) {
        heldBytes += change
    }

    /// A connection that is over held so many.
    func released(_ count: Int) {
        heldBytes -= count
    }

    /// The outcome, or a refusal where its content would be more than all connections may hold together.
    func withinBudget(_ outcome: SessionWork.Outcome) -> SessionWork.Outcome {
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
