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
    /// Questions that a look-up answers.
    let lookUps: WorkQueue
    /// What takes long to make.
    let makings: WorkQueue
    /// Keys that are opened, which may wait for the user. All of these are under way at once: none waits for another.
    let openings: WorkQueue
    /// Uses of keys that are open.
    let uses: WorkQueue
    /// What the provider can do in version 2 of the protocol.
    let features: [String]
    /// What is made for several connections at once.
    let shared: SharedWork
    /// What subscribers are told.
    let feed: EventFeed
    /// What answers the connections that have sent something.
    let round: AnswerRound

    /// The connections that their peers had left before they were served.
    let leavers: LeaverCount
    private var handlers: [Int: ConnectionHandler] = [:]
    private var policy: AdmissionPolicy
    private var lastID = 0
    /// The number of requests that were refused for want of room.
    private(set) var refusals = 0
    /// The number of connections that were turned away or closed for want of room.
    private var turnedAway = 0
    /// The number of replies that were sent.
    var answers = 0
    private let started = NIODeadline.now()
    /// The process's memory, and when it was read.
    private var memory: (time: NIODeadline, value: ProcessMemory)?
    private var ledger: ContentLedger
    /// For each connection whose replies wait for it to read: its process, and the bytes.
    private var unsent: [Int: (process: Int32, bytes: Int)] = [:]
    private var unsentBytes = 0
    /// Whether the server stops and admits no connection.
    private(set) var isDraining = false
    /// The provider's period of grants when it was asked last; nil where the provider could not tell.
    private(set) var grantPeriod: UInt64?
    /// The connection that has sent something last, and when.
    private var lastRead: (id: Int, time: NIODeadline) = (0, .uptimeNanoseconds(0))
    /// Until when several connections are taken to be busy.
    private var crowdedUntil = NIODeadline.uptimeNanoseconds(0)
    private var repetitions: RepetitionLimiter
    /// Succeeds when the registry is draining and the last connection has ended.
    private let emptied: EventLoopPromise<Void>

    init(
        service: any ProviderService, limits: ProviderServer.Limits, serverName: String, services: [String],
        fault: ConnectionFault?, logger: Logger, emptied: EventLoopPromise<Void>, leavers: LeaverCount,
        loop: ClosableEventLoop, executors: WorkExecutors, eventLoop: any EventLoop
    ) {
        self.service = service
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.fault = fault
        self.logger = logger
        self.emptied = emptied
        self.leavers = leavers
        self.loop = loop
        lookUps = WorkQueue(
            limits.lookUps, executor: executors.lookUps, loop: loop, eventLoop: eventLoop)
        makings = WorkQueue(
            limits.makings, executor: executors.makings, loop: loop, eventLoop: eventLoop)
        openings = WorkQueue(
            limits.openings, executor: executors.lookUps, loop: loop, eventLoop: eventLoop)
        uses = WorkQueue(limits.uses, executor: executors.uses, loop: loop, eventLoop: eventLoop)
        features = Wire.Feature.all.filter { service.token != nil || !Wire.Feature.ofToken.contains($0) }
        shared = SharedWork(makings)
        feed = EventFeed(eventLoop, limits: limits)
        round = AnswerRound(service: service, eventLoop: eventLoop)
        ledger = ContentLedger(limit: limits.totalSnapshotBytes)
        repetitions = RepetitionLimiter(eventLoop, logger)
        self.policy = AdmissionPolicy(limit: limits.connections, limitPerPeer: limits.connectionsPerPeer)
        self.grantPeriod = try? service.grantPeriod()
    }

    /// Whether there is one connection alone.
    var isSingle: Bool { handlers.count == 1 }

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
    /// - Returns: Whether there was a connection to close.
    func evictOne() -> Bool {
        guard let victim = policy.evict(idleSince: { [handlers] in handlers[$0]?.idleSince })
        else { return false }
        turnedAway += 1
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

    /// Notes that a connection has sent something.
    func noteRead(by id: Int, at now: NIODeadline) {
        defer { lastRead = (id, now) }
        guard id != lastRead.id, now - lastRead.time < Self.together else { return }
        crowdedUntil = now + Self.crowded
    }

    /// Whether a use is computed on the event loop. Handing it to another thread costs two switches between threads,
    /// which pays where the computation takes longer than these, and other connections want something meanwhile.
    ///
    /// - Parameter computed: how many uses of the connection's last read were computed so.
    func computesAtOnce(_ cost: OpenedTokenUse.Cost, after computed: Int) -> Bool {
        switch cost {
        case .low: computed < Self.mostAtOnce
        case .moderate: computed == 0 && uses.underWay == 0 && lastRead.time >= crowdedUntil
        case .high: false
        }
    }

    /// The most uses in answer to one read that are computed on the event loop: less than a millisecond in all.
    private static let mostAtOnce = 8

    /// Two connections that send something within this time are busy together.
    private static let together = TimeAmount.milliseconds(5)
    /// For how long connections that were busy together are taken to be so.
    private static let crowded = TimeAmount.milliseconds(50)

    /// Logs a warning about a connection that was not accepted, at most once a second and then with a count.
    func warn(_ message: String, _ metadata: Logger.Metadata) {
        repetitions.log(.warning, message, metadata)
    }

    /// Counts a request that is refused for want of room, and logs it at most once a second with a count.
    func refuse(_ reason: String, _ peer: PeerIdentity) {
        refusals += 1
        repetitions.log(.info, "a request was refused", ["reason": "\(reason)", "pid": "\(peer.processID)"])
    }

    /// Forgets a connection that has ended.
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
        round.answerAll()
        endOldGrants()
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
    /// Notes all content that a connection holds from now on.
    func noteContent(_ contents: [[UInt8]], of connection: Int, _ process: Int32) {
        ledger.set(connection, process: process, contents.map { ContentLedger.Piece($0) })
    }

    /// Counts the bytes that wait for a connection to read. Where all connections have too many, one of the process with
    /// most is closed, the one with most of them.
    func noteUnsent(_ change: Int, of connection: Int, _ process: Int32) {
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
        warn("too much waits for peers that do not read", ["connection": "\(victim)"])
        handlers[victim]?.close(.stalled)
    }

    /// Replaces an outcome by `serverBusy` where its content would exceed what all connections may hold together.
    /// Where another process holds more than `peer` would, its content is taken back instead.
    func limited(_ outcome: SessionWork.Outcome, for peer: PeerIdentity) -> SessionWork.Outcome {
        let content: [UInt8]
        switch outcome {
        case .content(let bytes): content = bytes
        case .chosen(let export): content = export.content
        case .encoded, .granted, .failed, .toMake, .toCompute, .used, .tokenFailed: return outcome
        }
        guard let reclaims = ledger.makeRoom(for: ContentLedger.Piece(content), of: peer.processID) else {
            refuse("too much content is held", peer)
            return .failed(
                ProviderFailure(
                    .serverBusy, "the provider holds too much content for others; try again later"))
        }
        for reclaim in reclaims {
            for connection in reclaim.connections { handlers[connection]?.takeBack(reclaim.piece) }
        }
        return outcome
    }
}

// MARK: - Figures

extension ConnectionRegistry {
    /// The figures of this server, in the order in which `Protocol.md` of `KeyShareWire` explains them.
    var figures: [ProviderFigure] {
        let now = NIODeadline.now()
        if memory.map({ now - $0.time > .milliseconds(100) }) ?? true {
            // Reading it takes longer than everything else here, and a peer may ask without end.
            memory = (now, ProcessMemory.current)
        }
        let memory = memory?.value ?? ProcessMemory()
        let counts: [(String, Int)] = [
            ("uptime-seconds", Int((NIODeadline.now() - started).nanoseconds / 1_000_000_000)),
            ("memory-bytes", memory.resident),
            ("peak-memory-bytes", memory.peak),
            ("connections", handlers.count),
            ("answers", answers),
            ("look-ups-under-way", lookUps.underWay),
            ("look-ups-waiting", lookUps.waiting),
            ("makings-under-way", makings.underWay),
            ("makings-waiting", makings.waiting),
            ("key-openings", openings.underWay),
            ("uses-under-way", uses.underWay),
            ("uses-waiting", uses.waiting),
            ("content-bytes", ledger.bytes),
            ("unsent-bytes", unsentBytes),
            ("refused-requests", refusals),
            ("refused-connections", turnedAway),
            ("abandoned-connections", leavers.value),
        ]
        return counts.map { ProviderFigure($0, UInt64(clamping: $1)) }
    }
}
