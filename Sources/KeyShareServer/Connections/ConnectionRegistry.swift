internal import KeyShareProtocol
internal import KeyShareWire
internal import LocalSockets
internal import Logging
internal import NIOCore

/// The connections of a server and their shared state: admission, the grant period, and the memory budget.
///
/// It is used only on the server's one event loop, and therefore needs no lock.
final class ConnectionRegistry {
    let service: any ProviderService
    let limits: ProviderServer.Limits
    let serverName: String
    let services: [String]
    let fault: ConnectionFault?
    let logger: Logger
    /// Receives every answered request and every connection that opens or closes; nil if nothing observes them.
    let observer: ProviderServer.Observer?
    let loop: ClosableEventLoop
    /// Calls that need only a lookup.
    let lookups: CallQueue
    /// Exports, which take a long time.
    let exports: CallQueue
    /// Calls that open a key and may wait for the user. They run concurrently; none waits for another.
    let keyOpenings: CallQueue
    /// Key uses whose key is already open.
    let keyUses: CallQueue
    /// The provider's features in version 2 of the protocol.
    let features: [String]
    /// Exports that several connections share.
    let coalescedCalls: CoalescedCalls
    /// The events for subscribers.
    let feed: EventFeed
    /// Answers the connections that have sent requests.
    let replyScheduler: ReplyScheduler

    /// The connections whose clients disconnected before they were served.
    let abandoned: AbandonedConnectionCount
    private var handlers: [Int: ConnectionHandler] = [:]
    private var policy: AdmissionPolicy
    private var lastID = 0
    /// The number of requests that were rejected because of a limit.
    private(set) var refusals = 0
    /// The number of connections that were rejected or closed because of a limit.
    private var turnedAway = 0
    /// The number of replies that were sent.
    var answers = 0
    private let started = NIODeadline.now()
    /// The process's memory, and the time when it was read.
    private var memory: (time: NIODeadline, value: ProcessMemory)?
    private var budget: ContentBudget
    /// For each connection with unread replies: its process, and the number of bytes.
    private var unsent: [Int: (process: Int32, bytes: Int)] = [:]
    private var unsentBytes = 0
    /// Whether the server is stopping and admits no connection.
    private(set) var isDraining = false
    /// The grant period that the provider last returned; nil if the provider could not determine it.
    private(set) var grantPeriod: UInt64?
    /// The connection that last sent a request, and the time.
    private var lastRead: (id: Int, time: NIODeadline) = (0, .uptimeNanoseconds(0))
    /// The time until which several connections are considered busy.
    private var crowdedUntil = NIODeadline.uptimeNanoseconds(0)
    private var repetitions: RepetitionLimiter
    /// Succeeds when the registry is draining and the last connection has ended.
    private let emptied: EventLoopPromise<Void>

    init(
        service: any ProviderService, limits: ProviderServer.Limits, serverName: String, services: [String],
        fault: ConnectionFault?, logger: Logger, observer: ProviderServer.Observer? = nil,
        emptied: EventLoopPromise<Void>,
        abandoned: AbandonedConnectionCount,
        loop: ClosableEventLoop, executors: CallExecutors, eventLoop: any EventLoop
    ) {
        self.service = service
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.fault = fault
        self.logger = logger
        self.observer = observer
        self.emptied = emptied
        self.abandoned = abandoned
        self.loop = loop
        lookups = CallQueue(
            limits.lookups, executor: executors.lookups, loop: loop, eventLoop: eventLoop)
        exports = CallQueue(
            limits.exports, executor: executors.exports, loop: loop, eventLoop: eventLoop)
        keyOpenings = CallQueue(
            limits.keyOpenings, executor: executors.lookups, loop: loop, eventLoop: eventLoop)
        keyUses = CallQueue(limits.keyUses, executor: executors.keyUses, loop: loop, eventLoop: eventLoop)
        features = Wire.Feature.all.filter { feature in
            (service.token != nil || !Wire.Feature.ofToken.contains(feature))
                && (service.aliases != nil || feature != Wire.Feature.aliases)
        }
        coalescedCalls = CoalescedCalls(exports)
        feed = EventFeed(eventLoop, limits: limits)
        replyScheduler = ReplyScheduler(service: service, eventLoop: eventLoop)
        budget = ContentBudget(limit: limits.totalSnapshotBytes)
        repetitions = RepetitionLimiter(eventLoop, logger)
        self.policy = AdmissionPolicy(limit: limits.connections, limitPerPeer: limits.connectionsPerPeer)
        self.grantPeriod = try? service.grantPeriod()
    }

    /// Whether the server has exactly one connection.
    var isSingle: Bool { handlers.count == 1 }

    /// Admits a new connection, and closes another one to make room if the policy requires it.
    ///
    /// - Returns: The new connection's handler; nil if the connection must be closed.
    func admit(_ peer: PeerIdentity) -> ConnectionHandler? {
        guard !isDraining else { return nil }
        lastID += 1
        switch policy.admit(
            lastID, process: peer.processID, idleSince: { [handlers] in handlers[$0]?.idleSince })
        {
        case .refuse:
            turnedAway += 1
            return nil
        case .admit:
            break
        case .admitInstead(let other):
            turnedAway += 1
            handlers[other]?.close(.evicted)
        }
        let handler = ConnectionHandler(id: lastID, peer: peer, registry: self)
        handlers[lastID] = handler
        return handler
    }

    /// Closes one connection so that its descriptor can serve another.
    ///
    /// - Returns: Whether a connection was closed.
    func evictOne() -> Bool {
        guard let victim = policy.evict(idleSince: { [handlers] in handlers[$0]?.idleSince })
        else { return false }
        turnedAway += 1
        handlers[victim]?.close(.evicted)
        return true
    }

    /// Records that a connection has completed its hello.
    func markReady(_ id: Int) {
        policy.markReady(id)
    }

    /// Ends the grants of all connections and drops their content, if the provider's grant period has changed
    /// (docs/rules.md R6.9, R6.11).
    func endExpiredGrants() {
        // A provider that cannot determine its period also ends all grants: nil differs from every number.
        let period = try? service.grantPeriod()
        guard period != grantPeriod else { return }
        grantPeriod = period
        logger.info("all grants end")
        for handler in handlers.values {
            handler.endGrants()
        }
    }

    /// Records that a connection has sent a request.
    func recordRead(by id: Int, at now: NIODeadline) {
        defer { lastRead = (id, now) }
        guard id != lastRead.id, now - lastRead.time < Self.together else { return }
        crowdedUntil = now + Self.crowded
    }

    /// Whether to compute a key use on the event loop. Another thread costs two thread switches, which is worth it only
    /// if the computation takes longer than the switches and other connections are busy.
    ///
    /// - Parameter computed: The number of key uses of the connection's last read that were computed on the event loop.
    func computesOnEventLoop(_ cost: OpenedTokenUse.Cost, after computed: Int) -> Bool {
        switch cost {
        case .low: computed < Self.mostAtOnce
        case .moderate: computed == 0 && keyUses.underWay == 0 && lastRead.time >= crowdedUntil
        case .high: false
        }
    }

    /// The maximum number of key uses for one read that are computed on the event loop: less than a millisecond in
    /// total.
    private static let mostAtOnce = 8

    /// Several connections count as busy if two of them send requests within this time of each other.
    private static let together = TimeAmount.milliseconds(5)
    /// The time for which several connections then count as busy.
    private static let crowded = TimeAmount.milliseconds(50)

    /// Logs a warning about a connection that was not accepted, at most once a second with a count.
    func warn(_ message: String, _ metadata: Logger.Metadata) {
        repetitions.log(.warning, message, metadata)
    }

    /// Counts a request that was rejected because of a limit, and logs it at most once a second with a count.
    func recordRefusal(_ reason: String, _ peer: PeerIdentity) {
        refusals += 1
        repetitions.log(.info, "a request was refused", ["reason": "\(reason)", "pid": "\(peer.processID)"])
    }

    /// Removes a connection that has ended.
    func remove(_ id: Int) {
        policy.remove(id)
        feed.remove(id)
        handlers[id] = nil
        if isDraining, handlers.isEmpty {
            emptied.succeed()
        }
    }

    /// Lets every connection finish its outstanding requests, and admits no new one.
    func drain() {
        guard !isDraining else { return }
        replyScheduler.processAll()
        endExpiredGrants()
        isDraining = true
        for handler in handlers.values {
            handler.drain()
        }
        if handlers.isEmpty {
            emptied.succeed()
        }
    }

    /// Closes all connections immediately.
    func closeAll() {
        for handler in handlers.values {
            handler.close(.shutdown)
        }
    }
}

// MARK: - Memory

extension ConnectionRegistry {
    /// Records all content that a connection holds.
    func recordContent(_ contents: [[UInt8]], of connection: Int, _ process: Int32) {
        budget.set(connection, process: process, contents.map { ContentBudget.Content($0) })
    }

    /// Counts the bytes that wait for a connection to read. If the total exceeds the limit, closes one connection: of
    /// the process with the most unsent bytes, the connection with the most.
    func recordUnsent(_ change: Int, of connection: Int, _ process: Int32) {
        guard change != 0 else { return }
        unsentBytes += change
        let bytes = (unsent[connection]?.bytes ?? 0) + change
        unsent[connection] = bytes > 0 ? (process, bytes) : nil
        guard change > 0, unsentBytes > limits.totalUnsentBytes else { return }
        var shares: [Int32: Int] = [:]
        for entry in unsent.values { shares[entry.process, default: 0] += entry.bytes }
        let greediest = shares.max { $0.value < $1.value }?.key
        let victim = unsent.filter { $0.value.process == greediest }.max { $0.value.bytes < $1.value.bytes }
        guard let victim = victim?.key else { return }
        warn("too many bytes are queued for clients that do not read", ["connection": "\(victim)"])
        handlers[victim]?.close(.stalled)
    }

    /// Replaces an outcome with `serverBusy` if its content would exceed the limit for all connections. If another
    /// process would hold more than `peer`, its content is evicted instead.
    func limitContent(of outcome: ProviderCall.Outcome, for peer: PeerIdentity) -> ProviderCall.Outcome {
        let content: [UInt8]
        switch outcome {
        case .content(let bytes): content = bytes
        case .chosen(let export): content = export.content
        case .encoded, .granted, .failed, .needsExport, .needsComputation, .used, .tokenFailed: return outcome
        }
        guard let evictions = budget.makeRoom(for: ContentBudget.Content(content), of: peer.processID) else {
            recordRefusal("too much content is held", peer)
            return .failed(
                ProviderFailure(
                    .serverBusy, "the provider holds too much content for other clients; try again later"))
        }
        for eviction in evictions {
            for connection in eviction.connections { handlers[connection]?.evict(eviction.content) }
        }
        return outcome
    }
}

// MARK: - Statistics

extension ConnectionRegistry {
    /// The server's statistics, in the order in which `Protocol.md` of `KeyShareWire` explains them.
    var figures: [ProviderFigure] {
        let now = NIODeadline.now()
        if memory.map({ now - $0.time > .milliseconds(100) }) ?? true {
            // Reading the memory takes longer than everything else here, and a client may request the statistics in a
            // loop.
            memory = (now, ProcessMemory.current)
        }
        let memory = memory?.value ?? ProcessMemory()
        let counts: [(String, Int)] = [
            ("uptime-seconds", Int((NIODeadline.now() - started).nanoseconds / 1_000_000_000)),
            ("memory-bytes", memory.resident),
            ("peak-memory-bytes", memory.peak),
            ("connections", handlers.count),
            ("answers", answers),
            ("look-ups-under-way", lookups.underWay),
            ("look-ups-waiting", lookups.waiting),
            ("makings-under-way", exports.underWay),
            ("makings-waiting", exports.waiting),
            ("key-openings", keyOpenings.underWay),
            ("uses-under-way", keyUses.underWay),
            ("uses-waiting", keyUses.waiting),
            ("content-bytes", budget.bytes),
            ("unsent-bytes", unsentBytes),
            ("refused-requests", refusals),
            ("refused-connections", turnedAway),
            ("abandoned-connections", abandoned.value),
        ]
        return counts.map { ProviderFigure($0, UInt64(clamping: $1)) }
    }
}
