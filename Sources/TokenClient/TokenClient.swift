private import Glibc
internal import KeyShareProtocol
package import SecretMemory
internal import Synchronization

/// A client of the persistent token for a library that other programs load. It blocks the calling thread, starts no
/// threads, and changes no settings of the process.
///
/// Several threads may call it concurrently. Each call uses its own connection, up to ``mostConnections`` in total.
/// After the provider restarts, the next request connects to it again.
package final class TokenClient: Sendable {
    /// The maximum number of connections for concurrent requests.
    package static let mostConnections = 16
    /// The maximum number of concurrent multipart messages.
    package static let mostMessages = 64
    /// The timeout for a reply that needs no user prompt, in milliseconds.
    static let replyTime: UInt64 = 2_000
    /// The timeout for a reply that may need a user prompt, in milliseconds. It is longer than the provider's own.
    static let presenceTime: UInt64 = 90_000
    /// The time in milliseconds during which no further requests are sent to a provider that did not answer.
    static let silenceTime: UInt64 = 5_000
    /// The maximum number of identities in a list.
    package static let mostIdentities = 16_384
    /// The maximum size of all pages of a list, in bytes.
    package static let listedBytes = 64 << 20

    private let path = Mutex<String?>(nil)
    private let clientName: String
    private let slots: [ConnectionSlot]
    private let messageSlots: [MessageSlot]
    /// The time until which no requests are sent, because the provider did not answer.
    private let silentUntil = Atomic<UInt64>(0)
    private let openings = Atomic<Int>(0)
    /// How often ``close()`` was called. A request fails if this number changes before its reply arrives.
    private let closings = Atomic<Int>(0)
    /// Whether the provider of the last connection supports logins.
    private let takesLogins = Atomic<Bool>(false)
    /// The last known login mode, and the number of opened connections at that time.
    private let knownMode = Mutex<(mode: LoginState.Mode, opening: Int)?>(nil)

    /// Creates a client that is not yet connected to a provider.
    ///
    /// - Parameter clientName: The name in the provider's log.
    package init(clientName: String) {
        self.clientName = clientName
        slots = (0..<Self.mostConnections).map { _ in ConnectionSlot() }
        messageSlots = (0..<Self.mostMessages).map { _ in MessageSlot() }
    }

    /// Sets the provider's socket. Open connections are kept.
    ///
    /// - Parameter path: The socket; nil if it is unknown.
    package func setPath(_ path: String?) {
        self.path.withLock { $0 = path }
        silentUntil.store(0, ordering: .releasing)
    }

    /// The provider's socket; nil if it is unknown.
    package var socketPath: String? { path.withLock { $0 } }

    /// Requests the token's changeable state.
    ///
    /// - Throws: `TokenClientError`.
    package func state() throws(TokenClientError) -> TokenState {
        var reader = ReplyReader(try plain(.tokenStatus)[...])
        let state = try TokenState(&reader)
        try reader.end()
        return state
    }

    /// The number of connections opened so far. A new connection may reach a different provider.
    package var connectionCount: Int { openings.load(ordering: .acquiring) }

    /// Requests the login mode, and the number of remaining PIN attempts.
    ///
    /// - Throws: `TokenClientError`.
    package func loginState() throws(TokenClientError) -> LoginState {
        try logIn(.state)
    }

    /// Returns the login mode. It is requested only if it is not known yet.
    ///
    /// - Throws: `TokenClientError`.
    package func loginMode() throws(TokenClientError) -> LoginState.Mode {
        let opening = connectionCount
        if let known = knownMode.withLock({ $0 }), known.opening == opening, opening > 0 { return known.mode }
        let mode = try loginState().mode
        knownMode.withLock { $0 = (mode, opening) }
        return mode
    }

    /// Logs in. If the provider prompts the user, this blocks until the user answers.
    ///
    /// - Throws: `TokenClientError`.
    package func logIn(_ login: LoginRequest) throws(TokenClientError) -> LoginState {
        var time = Self.presenceTime
        if case .state = login { time = Self.replyTime }
        // Whether the provider supports logins is known after the first connection.
        if connectionCount == 0 { _ = try state() }
        guard takesLogins.load(ordering: .acquiring) else { return .none }
        var request = TokenRequest.tokenLogin(login)
        // A connection wipes only its own copy.
        defer { request.wipe() }
        let body = Self.body(try reply(to: request, hasSecret: false, time))
        var reader = ReplyReader(body[...])
        let state = try LoginState(&reader)
        try reader.end()
        return state
    }

    /// Requests all identities of the token.
    ///
    /// - Returns: One page with all of them.
    /// - Throws: `TokenClientError`.
    package func identities() throws(TokenClientError) -> TokenIdentityPage {
        for _ in 0..<5 {
            if let list = try identitiesOfOneList() { return list }
        }
        throw .malformed("the list of tokens kept changing while it was read")
    }

    /// Returns the identities; nil if they changed between two pages.
    private func identitiesOfOneList() throws(TokenClientError) -> TokenIdentityPage? {
        var whole: TokenIdentityPage?
        var cursor: String?
        var limit = Self.firstPage
        var bytes = 0
        let deadline = Deadline.after(milliseconds: 15 * Self.replyTime)
        repeat {
            let body: [UInt8]
            do {
                body = try plain(.tokenObjects(cursor: cursor, limit: limit))
            } catch {
                // A cursor of an earlier list is no longer valid (code 4, notAvailable).
                if cursor != nil, case .provider(FailureCode.notAvailable.rawValue, _) = error { return nil }
                throw error
            }
            bytes += body.count
            guard bytes <= Self.listedBytes else {
                throw .malformed("the list of the tokens is longer than \(Self.listedBytes >> 20) MiB")
            }
            var reader = ReplyReader(body[...])
            let page = try TokenIdentityPage(&reader)
            try reader.end()
            guard whole == nil || whole?.changeCount == page.changeCount else { return nil }
            if whole == nil { whole = page } else { whole?.identities += page.identities }
            cursor = page.nextCursor
            limit = Self.pageLimit(after: page.identities.count, bytes: body.count)
            guard let count = whole?.identities.count, count <= Self.mostIdentities,
                !(page.identities.isEmpty && cursor != nil), deadline.millisecondsLeft > 0
            else { throw .malformed("the list of tokens does not end") }
        } while cursor != nil
        return whole
    }

    /// The limit of the first page. This many identities nearly always fit in a frame.
    private static let firstPage: UInt16 = 16

    /// The limit of the next page, computed from the average size of an identity on the previous page. If a page does
    /// not fit in a frame, the provider halves the limit.
    private static func pageLimit(after count: Int, bytes: Int) -> UInt16 {
        guard count > 0 else { return firstPage }
        return UInt16(clamping: max(1, Wire.replyLimit * 15 / 16 / max(1, bytes / count)))
    }

    /// Uses a key.
    ///
    /// - Parameters:
    ///   - use: The key use.
    ///   - data: At most `Wire.useDataLimit` bytes.
    /// - Returns: The signature, the plaintext or the shared secret.
    /// - Throws: `TokenClientError`.
    package func use(_ use: KeyUse, data: [UInt8]) throws(TokenClientError) -> SecretBytes {
        let reply = try reply(to: .use(use, data: data), hasSecret: true, Self.presenceTime)
        guard case .secret(let bytes) = reply else { throw .malformed("the reply contains no result") }
        return bytes
    }

    /// Begins a message that does not fit in one request.
    ///
    /// - Throws: `TokenClientError`; `provider` if too many messages are unfinished.
    package func beginMessage(_ use: KeyUse) throws(TokenClientError) -> TokenMessage {
        guard let slot = messageSlots.first(where: { $0.reserve() }) else {
            throw .provider(
                code: FailureCode.serverBusy.rawValue,
                reason: "\(Self.mostMessages) multipart messages are already in progress")
        }
        let closing = closings.load(ordering: .sequentiallyConsistent)
        do {
            let body = try slot.slot.with { (connection) throws(TokenClientError) in
                try openConnection(&connection, in: slot.slot, closing)
                return try Self.body(
                    Self.reply(on: &connection, to: .useBegin(use), hasSecret: false, Self.replyTime))
            }
            var reader = ReplyReader(body[...])
            return TokenMessage(slot, handle: try reader.integer())
        } catch {
            slot.release()
            throw error
        }
    }

    /// Closes all connections. Threads that are waiting for a reply receive an error, and do not connect again.
    package func close() {
        closings.add(1, ordering: .sequentiallyConsistent)
        let all = slots + messageSlots.map(\.slot)
        for slot in all { slot.interrupt() }
        for slot in all { try? slot.with { (connection) throws(TokenClientError) in connection = nil } }
    }

    /// Closes the inherited descriptors in a forked child of the process that created the client.
    package func closeInherited() {
        for slot in slots { slot.closeInherited() }
        for slot in messageSlots { slot.slot.closeInherited() }
    }
}

// MARK: - Requests

extension TokenClient {
    private func plain(_ request: TokenRequest) throws(TokenClientError) -> [UInt8] {
        Self.body(try reply(to: request, hasSecret: false, Self.replyTime))
    }

    static func body(_ reply: Connection.Reply) -> [UInt8] {
        guard case .plain(let body) = reply else { return [] }
        return body
    }

    /// Sends a request on a connection that no other thread is using. Retries once if a kept connection turns out to be
    /// closed, unless the client itself closed it.
    private func reply(
        to request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        let closing = closings.load(ordering: .sequentiallyConsistent)
        let busyUntil = Deadline.after(milliseconds: Self.replyTime)
        while true {
            do {
                return try replyOnFreeConnection(to: request, hasSecret: hasSecret, time, closing)
            } catch {
                // The provider has no capacity at the moment (code 9, serverBusy).
                guard case .provider(FailureCode.serverBusy.rawValue, _) = error,
                    busyUntil.millisecondsLeft > 0
                else {
                    throw error
                }
                usleep(5_000)
            }
        }
    }

    /// Waits for a free connection as long as for a reply. Requests that may prompt the user leave one connection free
    /// for other requests.
    private func replyOnFreeConnection(
        to request: TokenRequest, hasSecret: Bool, _ time: UInt64, _ closing: Int
    ) throws(TokenClientError) -> Connection.Reply {
        let slots = time > Self.replyTime ? slots.dropLast() : slots[...]
        let deadline = Deadline.after(milliseconds: time)
        while true {
            for slot in slots {
                let reply = try slot.withIfFree { (connection) throws(TokenClientError) in
                    try replyAfterReconnecting(
                        on: &connection, in: slot, to: request, hasSecret: hasSecret, time, closing)
                }
                if let reply { return reply }
            }
            guard deadline.millisecondsLeft > 0 else { throw .timedOut }
            usleep(1_000)
        }
    }

    private func replyAfterReconnecting(
        on connection: inout Connection?, in slot: ConnectionSlot, to request: TokenRequest, hasSecret: Bool,
        _ time: UInt64, _ closing: Int
    ) throws(TokenClientError) -> Connection.Reply {
        try requireOpen(closing)
        if let isOurs = connection?.isOurs {
            // If not, the host program has closed the descriptor, whose number may belong to another file.
            if isOurs {
                do {
                    return try Self.reply(on: &connection, to: request, hasSecret: hasSecret, time)
                } catch {
                    recordSilence(error)
                    guard error == .lost else { throw error }
                }
            }
            connection = nil
        }
        do {
            try openConnection(&connection, in: slot, closing)
            return try Self.reply(on: &connection, to: request, hasSecret: hasSecret, time)
        } catch {
            recordSilence(error)
            throw error
        }
    }

    /// Throws `lost` if the client was closed after a request began. Otherwise, the request would be repeated on a new
    /// connection, and the user would be prompted again.
    private func requireOpen(_ closing: Int) throws(TokenClientError) {
        guard closings.load(ordering: .sequentiallyConsistent) == closing else { throw .lost }
    }

    private func recordSilence(_ error: TokenClientError) {
        if error == .timedOut {
            silentUntil.store(
                Deadline.after(milliseconds: Self.silenceTime).nanoseconds, ordering: .releasing)
        }
    }

    /// Sends a request on a connection, and closes the connection if the exchange failed.
    static func reply(
        on connection: inout Connection?, to request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        do throws(TokenClientError) {
            guard
                let reply = try connection?.reply(
                    to: request, hasSecret: hasSecret, deadline: .after(milliseconds: time))
            else { throw TokenClientError.lost }
            return reply
        } catch {
            switch error {
            case .token: break
            case .provider(FailureCode.malformed.rawValue, _),
                .provider(FailureCode.unsupportedVersion.rawValue, _):
                connection = nil
            case .provider: break
            default: connection = nil
            }
            throw error
        }
    }

    /// Opens a connection, and sends the hello. Throws `lost` if the client was closed after the request began.
    private func openConnection(
        _ connection: inout Connection?, in slot: ConnectionSlot, _ closing: Int
    ) throws(TokenClientError) {
        try requireOpen(closing)
        guard let path = path.withLock({ $0 }) else {
            throw .absent("the device does not exist, or the path of its socket is too long")
        }
        guard Deadline.now >= silentUntil.load(ordering: .acquiring) else { throw .timedOut }
        do {
            connection = try Connection.connect(
                path: path, deadline: .after(milliseconds: Self.replyTime / 2))
        } catch {
            connection = nil
            throw error
        }
        // `close` first changes the number, and then interrupts the recorded connections.
        slot.record(&connection)
        do {
            try requireOpen(closing)
        } catch {
            connection = nil
            throw error
        }
        let hello = TokenRequest.hello(clientName: clientName)
        let body: [UInt8]
        do {
            body = Self.body(try Self.reply(on: &connection, to: hello, hasSecret: false, Self.replyTime))
        } catch {
            connection = nil
            guard case .provider(let code, let reason) = error, code != FailureCode.serverBusy.rawValue else {
                throw error
            }
            throw .absent("the provider has no token: \(reason)")
        }
        do throws(TokenClientError) {
            let features = try Self.features(body)
            guard features.contains(Wire.Feature.tokenObjects) else {
                throw TokenClientError.absent("the provider has no token")
            }
            takesLogins.store(features.contains(Wire.Feature.tokenLogin), ordering: .releasing)
            openings.add(1, ordering: .acquiringAndReleasing)
        } catch {
            connection = nil
            throw error
        }
    }

    private static func features(_ welcome: [UInt8]) throws(TokenClientError) -> [String] {
        var reader = ReplyReader(welcome[...])
        let version = try reader.integer(as: UInt16.self)
        _ = try reader.text()
        for _ in 0..<(try reader.integer(as: UInt16.self)) { _ = try reader.text() }
        guard version == Wire.tokenVersion else { throw .malformed("the provider chose version \(version)") }
        _ = try reader.integer(as: UInt32.self)
        var features: [String] = []
        for _ in 0..<(try reader.integer(as: UInt16.self)) { features.append(try reader.text()) }
        return features
    }
}

/// A slot for the connection of one multipart message.
final class MessageSlot: Sendable {
    let slot = ConnectionSlot()
    private let isTaken = Atomic<Bool>(false)

    /// Reserves the slot; returns false if it is in use.
    func reserve() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    /// Closes the connection, and frees the slot.
    func release() {
        try? slot.with { (connection) throws(TokenClientError) in connection = nil }
        isTaken.store(false, ordering: .releasing)
    }
}

/// A message that is sent in several parts over its own connection. Releasing the message closes the connection.
package final class TokenMessage: Sendable {
    private let slot: MessageSlot
    private let handle: UInt32

    fileprivate init(_ slot: MessageSlot, handle: UInt32) {
        self.slot = slot
        self.handle = handle
    }

    deinit {
        slot.release()
    }

    /// Sends a part.
    ///
    /// - Throws: `TokenClientError`.
    package func append(_ data: [UInt8]) throws(TokenClientError) {
        let handle = handle
        for start in stride(from: 0, to: data.count, by: Wire.useDataLimit) {
            let part = data[start..<min(start + Wire.useDataLimit, data.count)]
            _ = try slot.slot.with { (connection) throws(TokenClientError) in
                TokenClient.body(
                    try TokenClient.reply(
                        on: &connection, to: .useUpdate(handle: handle, data: part), hasSecret: false,
                        TokenClient.replyTime))
            }
        }
    }

    /// Signs the message.
    ///
    /// - Throws: `TokenClientError`.
    package func finish() throws(TokenClientError) -> SecretBytes {
        let handle = handle
        return try slot.slot.with { (connection) throws(TokenClientError) in
            let reply = try TokenClient.reply(
                on: &connection, to: .useEnd(handle: handle), hasSecret: true, TokenClient.presenceTime)
            guard case .secret(let bytes) = reply else { throw .malformed("the reply contains no result") }
            return bytes
        }
    }
}
