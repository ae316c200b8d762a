internal import KeyShareProtocol
package import KeyShareWire
package import NIOCore

/// The provider's side of one connection, as a value: its inputs are bytes, outcomes and times, and its outputs are
/// actions.
///
/// A session does no I/O and reads no clock, so that a test or a fuzzer can drive it on its own. Report events with
/// `receive`, `finishCall`, `sent` and similar functions; then take actions from `next(at:)` until it returns nil.
/// `Protocol.md` of `KeyShareWire` has the table of its states.
package struct ProtocolSession: Sendable {
    /// An action that the owner of the session must carry out, in order.
    package enum Action: Sendable {
        /// Send this reply.
        case reply(ProviderReply, requestID: UInt32)
        /// Send this frame, which holds a whole reply.
        case send(ByteBuffer)
        /// Send the password of this item, whose grant was checked.
        case password(identifier: String, requestID: UInt32)
        /// Send the server's statistics.
        case statistics(requestID: UInt32)
        /// Answer through `finishEventsRequest(_:)` when events after the number `after` exist, or when `wait` has
        /// passed.
        case awaitEvents(after: UInt64?, wait: TimeAmount)
        /// Apply this step of a multipart message, and send the reply.
        case message(MultipartSignatureStep, requestID: UInt32)
        /// Call the provider, and pass the outcome to `finishCall(_:with:at:)` with this token.
        case call(ProviderCall, token: Int, requestID: UInt32)
        /// Close the connection once everything before this action has been sent. No action follows.
        case close(CloseReason)
    }

    /// Why a connection ended. The raw value is the phrase for the log.
    package enum CloseReason: String, Sendable, Hashable {
        case peerClosed = "the peer closed"
        case violation = "the peer violated the protocol"
        case helloTimeout = "the peer sent no hello in time"
        case frameTimeout = "the peer did not complete a frame in time"
        case idleTimeout = "the connection was idle for too long"
        case stalled = "the peer does not read"
        case shutdown = "the server is stopping"
        case evicted = "evicted to make room for another connection"
        case fault = "a deliberate fault"
    }

    /// The state of the connection.
    enum Phase: Sendable {
        case awaitingHello
        case open
        /// The last replies are queued; the connection closes after them.
        case ending(CloseReason)
        case closed
    }

    /// A call to the provider that has no outcome yet, and its request.
    struct PendingRequest: Sendable {
        var call: ProviderCall
        var requestID: UInt32
        /// Whether the grant that the outcome would create has already ended.
        var isRevoked = false
    }

    let limits: ProviderServer.Limits
    let serverName: String
    let services: [String]
    let versions: ClosedRange<UInt16>
    let features: [String]
    private let times: Times

    /// Whether the client has sent a hello with a version that both sides support.
    package internal(set) var hasSaidHello = false

    /// The client's name in its hello; empty until the hello. It is not authenticated.
    var clientName = ""
    /// The negotiated version of the protocol; 1 until the hello.
    var version: UInt16 = 1
    var phase = Phase.awaitingHello
    var grants = SessionGrants()
    var pending: [Int: PendingRequest] = [:]
    var lastToken = 0
    /// Actions that wait to be taken by `next(at:)`.
    var queue: [Action] = []
    /// The pending request for events; nil if there is none. It does not count as outstanding: like any idle
    /// connection, a subscriber may be closed to make room.
    var awaitedEvents: (requestID: UInt32, after: UInt64?)?
    /// Whether requests are recorded, so that they can be reported to subscribers after they are answered.
    package var recordsRequests = false
    /// The recorded requests that are not answered yet.
    var records: [RequestRecord] = []

    private var received = ByteBuffer()
    private var isInputOver = false
    private var isDraining = false
    private var unsent = 0

    private let connected: NIODeadline
    var lastActivity: NIODeadline
    private var frameStarted: NIODeadline?
    private var unsentSince: NIODeadline?

    /// Creates the session of a connection that was just accepted.
    ///
    /// - Parameters:
    ///   - limits: The limits of the server.
    ///   - serverName: The provider's name in the reply to the hello.
    ///   - services: The names of the services that the provider offers.
    ///   - versions: The versions of the protocol that the provider supports.
    ///   - features: The provider's features in version 2 (`Wire.Feature`).
    ///   - now: The time at which the connection was accepted.
    package init(
        limits: ProviderServer.Limits, serverName: String, services: [String],
        versions: ClosedRange<UInt16> = Wire.versions, features: [String] = [Wire.Feature.statistics],
        at now: NIODeadline
    ) {
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.versions = versions
        self.features = features
        self.times = Times(limits)
        self.connected = now
        self.lastActivity = now
    }

    /// The number of bytes of content that are kept for this connection.
    package var heldBytes: Int { grants.heldBytes }

    /// All content that is kept for this connection.
    package var heldContent: [[UInt8]] { grants.contents }

    /// A number that changes whenever the loaded content changes.
    package var contentVersion: Int { grants.contentVersion }

    /// The bytes of replies that wait to be sent.
    package var unsentBytes: Int { unsent }

    /// The number of requests that are not answered yet.
    package var outstanding: Int { pending.count + grants.waitingReads }

    /// Whether the session can receive more bytes; false while too many replies or requests are outstanding.
    package var canReceive: Bool {
        switch phase {
        case .awaitingHello, .open: !isInputOver && !isDraining && hasRoom
        case .ending, .closed: false
        }
    }

    /// Whether this connection may send token requests.
    var hasToken: Bool { version >= 2 && features.contains(Wire.Feature.token) }

    /// Whether this connection may send requests about aliases.
    var hasAliases: Bool { hasToken && features.contains(Wire.Feature.aliases) }

    /// The longest frame that the client may send, in bytes. Until the hello, the limit of version 1 applies.
    var requestLimit: Int { hasToken ? Wire.longRequestLimit : Wire.requestLimit }

    /// The time when the connection became idle; nil while a request or a reply is outstanding.
    package var idleSince: NIODeadline? {
        outstanding == 0 && unsent == 0 ? lastActivity : nil
    }

    /// The time at which `expire(at:)` will close the connection if nothing changes; nil if it will not.
    package var deadline: NIODeadline? {
        var deadline: NIODeadline?
        func consider(_ time: NIODeadline) {
            deadline = deadline.map { min($0, time) } ?? time
        }
        if let unsentSince { consider(unsentSince + times.stalled) }
        switch phase {
        case .awaitingHello: consider(connected + times.hello)
        case .open: if outstanding == 0 { consider(lastActivity + times.idle) }
        case .ending: break
        case .closed: return unsentSince.map { $0 + times.stalled }
        }
        if let frameStarted { consider(frameStarted + times.frame) }
        return deadline
    }

    /// Whether another request may be handled.
    private var hasRoom: Bool {
        unsent <= limits.unsentBytes && outstanding < limits.outstandingRequests
    }

    /// The durations of the limits, converted once to the unit of the event loop.
    private struct Times: Sendable {
        let hello, frame, idle, stalled: TimeAmount

        init(_ limits: ProviderServer.Limits) {
            hello = TimeAmount(limits.hello)
            frame = TimeAmount(limits.frame)
            idle = TimeAmount(limits.idle)
            stalled = TimeAmount(limits.stalled)
        }
    }
}

// MARK: - Events

extension ProtocolSession {
    /// Receives bytes from the client.
    package mutating func receive(_ bytes: ByteBuffer, at now: NIODeadline) {
        lastActivity = now
        if received.readableBytes == 0 {
            received = bytes
        } else {
            received.discardReadBytes()
            received.writeImmutableBuffer(bytes)
        }
    }

    /// Records that the client will send no more. Its outstanding requests are still answered.
    package mutating func endInput() {
        isInputOver = true
    }

    /// Records that the server is stopping: outstanding requests are answered, and no others are begun.
    package mutating func drain() {
        isDraining = true
        if let awaitedEvents {
            finishEventsRequest(
                .events(ProviderEventPage(events: [], last: awaitedEvents.after ?? 0, lost: 0)))
        }
    }

    /// Records that `count` more bytes of replies wait to be sent.
    package mutating func queued(_ count: Int, at now: NIODeadline) {
        unsent += count
        if unsentSince == nil {
            unsentSince = now
        }
    }

    /// Records that the system has accepted `count` bytes of replies.
    package mutating func sent(_ count: Int, at now: NIODeadline) {
        unsent -= count
        unsentSince = unsent > 0 ? now : nil
        lastActivity = now
    }

    /// Ends the session if a deadline has passed.
    ///
    /// - Returns: The reason to close the connection immediately; nil while no deadline has passed.
    package mutating func expire(at now: NIODeadline) -> CloseReason? {
        guard let deadline, deadline <= now else { return nil }
        let reason: CloseReason =
            if let unsentSince, unsentSince + times.stalled <= now {
                .stalled
            } else if case .awaitingHello = phase, connected + times.hello <= now {
                .helloTimeout
            } else if let frameStarted, frameStarted + times.frame <= now {
                .frameTimeout
            } else {
                .idleTimeout
            }
        phase = .closed
        return reason
    }

    /// Returns the next action; nil if no action is possible before more input arrives.
    package mutating func next(at now: NIODeadline) -> Action? {
        while true {
            if !queue.isEmpty { return queue.removeFirst() }
            switch phase {
            case .closed: return nil
            case .ending(let reason):
                phase = .closed
                return .close(reason)
            case .awaitingHello, .open: break
            }
            if isDraining {
                guard outstanding == 0 else { return nil }
                phase = .ending(.shutdown)
                continue
            }
            guard hasRoom else {
                frameStarted = nil
                return nil
            }
            do throws(ProviderFailure) {
                guard let frame = try Frame.next(from: &received, limit: requestLimit) else {
                    waitForMore(at: now)
                    if case .ending = phase { continue }
                    return nil
                }
                frameStarted = nil
                if let action = handle(frame) { return action }
            } catch {
                violate(error, requestID: Wire.noRequest)
            }
        }
    }

    /// Queues the failure for a client that violated the protocol, and ends the connection after it.
    mutating func violate(_ failure: ProviderFailure, requestID: UInt32) {
        queue.append(.reply(.failure(failure), requestID: requestID))
        phase = .ending(.violation)
    }

    /// Called if the received bytes contain no whole frame. The deadline of a frame begins with its first byte.
    private mutating func waitForMore(at now: NIODeadline) {
        if isInputOver {
            if outstanding == 0 {
                phase = .ending(.peerClosed)
            }
        } else if received.readableBytes > 0 {
            frameStarted = frameStarted ?? now
        } else {
            frameStarted = nil
            // This releases the channel's buffer, so that the channel can reuse its memory.
            received = ByteBuffer()
        }
    }
}
