package import KeyShareWire
internal import KeySharing
package import NIOCore

/// One connection's side of the protocol as a value: bytes, answers and times go in, actions come out.
///
/// It does no I/O and reads no clock, so that a test or a fuzzer drives it alone. Feed it through
/// `receive`, `complete`, `sent` and the like, then take actions from `next(at:)` until there is none.
package struct Session: Sendable {
    /// What the owner must do, in this order.
    package enum Action: Sendable {
        /// Send this reply.
        case reply(ProviderReply, requestID: UInt32)
        /// Send this frame, which is a whole reply.
        case send(ByteBuffer)
        /// Send the password of this item, whose grant stands.
        case password(identifier: String, requestID: UInt32)
        /// Ask the provider, and hand the outcome to `complete(_:with:at:)` under the same token.
        case perform(SessionWork, token: Int, requestID: UInt32)
        /// Close once everything before it has been sent. No action follows.
        case close(CloseReason)
    }

    /// Why a connection ended, for the log.
    package enum CloseReason: String, Sendable, Hashable {
        case peerClosed = "the peer closed"
        case violation = "the peer broke the protocol"
        case helloTimeout = "no hello in time"
        case frameTimeout = "a frame was not finished in time"
        case idleTimeout = "idle for too long"
        case stalled = "the peer does not read"
        case shutdown = "the server stops"
        case evicted = "room for another"
        case fault = "a fault was asked for"
    }

    enum Phase: Sendable {
        case awaitingHello
        case open
        /// The last replies are queued; then it closes.
        case ending(CloseReason)
        case closed
    }

    /// A question that is out, and the request that it answers.
    struct Pending: Sendable {
        var work: SessionWork
        var requestID: UInt32
        /// Whether a grant that comes of it has been given back already.
        var isRevoked = false
    }

    let limits: ProviderServer.Limits
    let serverName: String
    let services: [String]
    let versions: ClosedRange<UInt16>
    private let times: Times

    /// Whether the hello has been said and understood.
    package internal(set) var hasSaidHello = false

    var phase = Phase.awaitingHello
    var grants = SessionGrants()
    var pending: [Int: Pending] = [:]
    var lastToken = 0
    /// Actions that came of one event together with others.
    var queue: [Action] = []

    private var received = ByteBuffer()
    private var isInputOver = false
    private var isDraining = false
    private var unsent = 0

    private let connected: NIODeadline
    var lastActivity: NIODeadline
    private var frameStarted: NIODeadline?
    private var unsentSince: NIODeadline?

    /// - Parameters:
    ///   - limits: What this peer is granted.
    ///   - serverName: What the hello's reply says.
    ///   - services: The names of the services there are.
    ///   - versions: The versions of the protocol that are spoken.
    ///   - now: The time of the accept.
    package init(
        limits: ProviderServer.Limits, serverName: String, services: [String],
        versions: ClosedRange<UInt16> = Wire.versions, at now: NIODeadline
    ) {
        self.limits = limits
        self.serverName = serverName
        self.services = services
        self.versions = versions
        self.times = Times(limits)
        self.connected = now
        self.lastActivity = now
    }

    /// The bytes of content that this connection holds.
    package var heldBytes: Int { grants.heldBytes }

    /// Requests that are being worked on.
    package var outstanding: Int { pending.count + grants.waitingReads }

    /// Whether more bytes are welcome: false while too much waits to be sent or to be answered.
    package var canReceive: Bool {
        switch phase {
        case .awaitingHello, .open: !isInputOver && !isDraining && hasRoom
        case .ending, .closed: false
        }
    }

    /// Since when there has been nothing to do; nil while there is.
    package var idleSince: NIODeadline? {
        outstanding == 0 && unsent == 0 ? lastActivity : nil
    }

    /// When `expire(at:)` has something to say, unless something else happens first.
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

    private var hasRoom: Bool {
        unsent <= limits.unsentBytes && outstanding < limits.outstandingRequests
    }

    /// The limits' durations as the event loop counts them.
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

extension Session {
    /// Bytes came.
    package mutating func receive(_ bytes: ByteBuffer, at now: NIODeadline) {
        lastActivity = now
        if received.readableBytes == 0 {
            received = bytes
        } else {
            received.discardReadBytes()
            received.writeImmutableBuffer(bytes)
        }
    }

    /// The peer will send no more. What it asked for is still answered.
    package mutating func endInput() {
        isInputOver = true
    }

    /// The server stops: what is being answered is finished, nothing more is begun.
    package mutating func drain() {
        isDraining = true
    }

    /// Bytes of replies wait to be sent.
    package mutating func queued(_ count: Int, at now: NIODeadline) {
        unsent += count
        if unsentSince == nil {
            unsentSince = now
        }
    }

    /// Bytes of replies have been taken by the system.
    package mutating func sent(_ count: Int, at now: NIODeadline) {
        unsent -= count
        unsentSince = unsent > 0 ? now : nil
        lastActivity = now
    }

    /// The reason to close at once, if a deadline has passed.
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

    /// The next thing to do; nil until something happens.
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
                guard let frame = try Frame.next(from: &received, limit: Wire.requestLimit) else {
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

    /// Queues the one error that a broken peer gets, and the end.
    mutating func violate(_ failure: ProviderFailure, requestID: UInt32) {
        queue.append(.reply(.failure(failure), requestID: requestID))
        phase = .ending(.violation)
    }

    private mutating func waitForMore(at now: NIODeadline) {
        if isInputOver {
            if outstanding == 0 {
                phase = .ending(.peerClosed)
            }
        } else if received.readableBytes > 0 {
            frameStarted = frameStarted ?? now
        } else {
            frameStarted = nil
            // Lets go of the channel's own buffer, which it can then use again.
            received = ByteBuffer()
        }
    }
}
