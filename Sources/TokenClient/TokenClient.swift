private import Glibc
package import SecretMemory
internal import Synchronization

/// A client of the persistent token for a library that other programs load: it waits for answers in the calling thread,
/// starts no thread, and leaves the process as it was.
///
/// Several threads may call at once; each waits for a connection of its own, of which there are at most
/// ``mostConnections``. A provider that was restarted is found again at the next request.
package final class TokenClient: Sendable {
    /// The most connections for requests that are answered at once.
    package static let mostConnections = 16
    /// The most messages that are sent in parts at one time.
    package static let mostMessages = 64
    /// How long an answer may take for which nobody asks the user, in milliseconds.
    static let replyTime: UInt64 = 2_000
    /// How long an answer may take for which the user is asked, in milliseconds. It is longer than the provider waits.
    static let presenceTime: UInt64 = 90_000
    /// For how long a provider that did not answer is not asked again, in milliseconds.
    static let silenceTime: UInt64 = 5_000
    /// The most identities that are listed.
    static let mostIdentities = 16_384

    private let path = Mutex<String?>(nil)
    private let clientName: String
    private let slots: [ConnectionSlot]
    private let messageSlots: [MessageSlot]
    private let next = Atomic<Int>(0)
    /// Until when the provider is not asked, because it has not answered.
    private let silentUntil = Atomic<UInt64>(0)
    /// How often a connection was opened: another provider may serve on a new one.
    private let openings = Atomic<Int>(0)
    /// Whether the provider of the last connection takes logins.
    private let takesLogins = Atomic<Bool>(false)
    /// What was heard last about logging in, and after which opening.
    private let knownMode = Mutex<(mode: LoginState.Mode, opening: Int)?>(nil)

    /// A client that knows no provider yet.
    ///
    /// - Parameter clientName: the name in the provider's log.
    package init(clientName: String) {
        self.clientName = clientName
        slots = (0..<Self.mostConnections).map { _ in ConnectionSlot() }
        messageSlots = (0..<Self.mostMessages).map { _ in MessageSlot() }
    }

    /// Says where the provider serves. Connections that are open stay.
    ///
    /// - Parameter path: the socket; nil where no place is known.
    package func setPath(_ path: String?) {
        self.path.withLock { $0 = path }
        silentUntil.store(0, ordering: .releasing)
    }

    /// Asks what changes about the token.
    ///
    /// - Throws: `TokenClientError`.
    package func state() throws(TokenClientError) -> TokenState {
        var reader = ReplyReader(try plain(.tokenStatus)[...])
        let state = try TokenState(&reader)
        try reader.end()
        return state
    }

    /// Asks how a program logs in, and how many wrong PINs the token still takes.
    ///
    /// - Throws: `TokenClientError`.
    package func loginState() throws(TokenClientError) -> LoginState {
        try logIn(.state)
    }

    /// Asks how a program logs in, unless the provider has said so already.
    ///
    /// - Throws: `TokenClientError`.
    package func loginMode() throws(TokenClientError) -> LoginState.Mode {
        let opening = openings.load(ordering: .acquiring)
        if let known = knownMode.withLock({ $0 }), known.opening == opening, opening > 0 { return known.mode }
        let mode = try loginState().mode
        knownMode.withLock { $0 = (mode, opening) }
        return mode
    }

    /// Logs in. Where the user is asked, this takes as long as the user does.
    ///
    /// - Throws: `TokenClientError`.
    package func logIn(_ login: LoginRequest) throws(TokenClientError) -> LoginState {
        var time = Self.presenceTime
        if case .state = login { time = Self.replyTime }
        // Whether the provider takes logins is known once there is a connection.
        if openings.load(ordering: .acquiring) == 0 { _ = try state() }
        guard takesLogins.load(ordering: .acquiring) else { return .none }
        let body = Self.body(try ask(.tokenLogin(login), hasSecret: false, time))
        var reader = ReplyReader(body[...])
        let state = try LoginState(&reader)
        try reader.end()
        return state
    }

    /// Asks for all identities of the token.
    ///
    /// - Returns: one page with all of them.
    /// - Throws: `TokenClientError`.
    package func identities() throws(TokenClientError) -> TokenIdentityPage {
        for _ in 0..<5 {
            if let list = try identitiesOfOneList() { return list }
        }
        throw .malformed("the tokens change while they are listed")
    }

    /// The identities; nil where they changed between two pages.
    private func identitiesOfOneList() throws(TokenClientError) -> TokenIdentityPage? {
        var whole: TokenIdentityPage?
        var cursor: String?
        var limit = Self.firstPage
        let deadline = Deadline.after(milliseconds: 15 * Self.replyTime)
        repeat {
            let body: [UInt8]
            do {
                body = try plain(.tokenObjects(cursor: cursor, limit: limit))
            } catch {
                // The cursor of an earlier list means nothing (code 4, notAvailable).
                if cursor != nil, case .provider(code: 4, reason: _) = error { return nil }
                throw error
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
            else { throw .malformed("the list of the tokens does not end") }
        } while cursor != nil
        return whole
    }

    /// The most identities of the first page: as many as fit nearly always.
    private static let firstPage: UInt16 = 16

    /// The most identities of a page, if they are as long as those of the page before. A page that does not fit is made
    /// again by the provider, with half as many.
    private static func pageLimit(after count: Int, bytes: Int) -> UInt16 {
        guard count > 0 else { return firstPage }
        return UInt16(clamping: max(1, TokenWire.replyLimit * 15 / 16 / max(1, bytes / count)))
    }

    /// Has a key used.
    ///
    /// - Parameters:
    ///   - use: the use.
    ///   - data: at most `TokenWire.dataLimit` bytes.
    /// - Returns: the signature, the plaintext or the shared secret.
    /// - Throws: `TokenClientError`.
    package func use(_ use: KeyUse, data: [UInt8]) throws(TokenClientError) -> SecretBytes {
        try secret(.use(use, data: data))
    }

    /// Begins a message that does not fit one request.
    ///
    /// - Throws: `TokenClientError`; `provider` where there are too many such messages.
    package func beginMessage(_ use: KeyUse) throws(TokenClientError) -> TokenMessage {
        guard let slot = messageSlots.first(where: { $0.take() }) else {
            throw .provider(code: 9, reason: "there are \(Self.mostMessages) long messages at one time")
        }
        do {
            let body = try slot.slot.with { (connection) throws(TokenClientError) in
                try open(&connection)
                return try Self.body(
                    Self.ask(&connection, .useBegin(use), hasSecret: false, Self.replyTime))
            }
            var reader = ReplyReader(body[...])
            return TokenMessage(slot, handle: try reader.integer())
        } catch {
            slot.release()
            throw error
        }
    }

    /// Closes all connections. Threads that wait for an answer get none.
    package func close() {
        let all = slots + messageSlots.map(\.slot)
        for slot in all { slot.interrupt() }
        for slot in all { try? slot.with { (connection) throws(TokenClientError) in connection = nil } }
    }

    /// Closes the descriptors that this process has inherited from the process that made the client.
    package func closeInherited() {
        for slot in slots { slot.closeInherited() }
        for slot in messageSlots { slot.slot.closeInherited() }
    }
}

// MARK: - Requests

extension TokenClient {
    private func plain(_ request: TokenRequest) throws(TokenClientError) -> [UInt8] {
        Self.body(try ask(request, hasSecret: false, Self.replyTime))
    }

    private func secret(_ request: TokenRequest) throws(TokenClientError) -> SecretBytes {
        guard case .secret(let bytes) = try ask(request, hasSecret: true, Self.presenceTime) else {
            throw .malformed("the reply is no result")
        }
        return bytes
    }

    static func body(_ reply: Connection.Reply) -> [UInt8] {
        guard case .plain(let body) = reply else { return [] }
        return body
    }

    /// Asks over a connection that no other thread has; once more where a kept connection turns out to be closed.
    private func ask(
        _ request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        let busyUntil = Deadline.after(milliseconds: Self.replyTime)
        while true {
            do {
                return try askOnce(request, hasSecret: hasSecret, time)
            } catch {
                // The provider has no room now (code 9, serverBusy).
                guard case .provider(code: 9, reason: _) = error, busyUntil.millisecondsLeft > 0 else {
                    throw error
                }
                usleep(5_000)
            }
        }
    }

    private func askOnce(
        _ request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        for slot in slots {
            let reply = try slot.withIfFree { (connection) throws(TokenClientError) in
                try askTwice(&connection, request, hasSecret: hasSecret, time)
            }
            if let reply { return reply }
        }
        let place = next.wrappingAdd(1, ordering: .relaxed).newValue
        return try slots[Int(UInt(bitPattern: place) % UInt(slots.count))].with {
            (connection) throws(TokenClientError) in
            try askTwice(&connection, request, hasSecret: hasSecret, time)
        }
    }

    private func askTwice(
        _ connection: inout Connection?, _ request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        if let isOurs = connection?.isOurs {
            if isOurs {
                do {
                    return try Self.ask(&connection, request, hasSecret: hasSecret, time)
                } catch {
                    noteSilence(error)
                    guard error == .lost else { throw error }
                }
            } else {
                // The host has closed the descriptor, whose number may be another file's by now.
                connection?.forget()
            }
            connection = nil
        }
        do {
            try open(&connection)
            return try Self.ask(&connection, request, hasSecret: hasSecret, time)
        } catch {
            noteSilence(error)
            throw error
        }
    }

    private func noteSilence(_ error: TokenClientError) {
        if error == .timedOut {
            silentUntil.store(
                Deadline.after(milliseconds: Self.silenceTime).nanoseconds, ordering: .releasing)
        }
    }

    /// Asks over a connection, which is given up unless the exchange was in order.
    static func ask(
        _ connection: inout Connection?, _ request: TokenRequest, hasSecret: Bool, _ time: UInt64
    ) throws(TokenClientError) -> Connection.Reply {
        do throws(TokenClientError) {
            guard
                let reply = try connection?.ask(
                    request, hasSecret: hasSecret, deadline: .after(milliseconds: time))
            else { throw TokenClientError.lost }
            return reply
        } catch {
            switch error {
            case .token: break
            // The provider closes the connection after malformed and unsupportedVersion.
            case .provider(let code, _) where code > 2: break
            default: connection = nil
            }
            throw error
        }
    }

    /// Opens a connection and says hello.
    private func open(_ connection: inout Connection?) throws(TokenClientError) {
        guard let path = path.withLock({ $0 }) else {
            throw .absent("there is no device, or its path is too long")
        }
        guard Deadline.now >= silentUntil.load(ordering: .acquiring) else { throw .timedOut }
        do {
            connection = try Connection.open(path: path, deadline: .after(milliseconds: Self.replyTime / 2))
        } catch {
            connection = nil
            throw error
        }
        let hello = TokenRequest.hello(clientName: clientName)
        let body: [UInt8]
        do {
            body = Self.body(try Self.ask(&connection, hello, hasSecret: false, Self.replyTime))
        } catch {
            connection = nil
            guard case .provider(let code, let reason) = error, code != 9 else { throw error }
            throw .absent("the provider has no token: \(reason)")
        }
        do throws(TokenClientError) {
            let features = try Self.features(body)
            guard features.contains(TokenWire.feature) else {
                throw TokenClientError.absent("the provider has no token")
            }
            takesLogins.store(features.contains(TokenWire.loginFeature), ordering: .releasing)
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
        guard version == TokenWire.version else { throw .malformed("the provider chose version \(version)") }
        _ = try reader.integer(as: UInt32.self)
        var features: [String] = []
        for _ in 0..<(try reader.integer(as: UInt16.self)) { features.append(try reader.text()) }
        return features
    }
}

/// A place for the connection of one message in parts.
final class MessageSlot: Sendable {
    let slot = ConnectionSlot()
    private let isTaken = Atomic<Bool>(false)

    /// Takes the place; false where it is taken.
    func take() -> Bool {
        isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    }

    /// Closes the connection and frees the place.
    func release() {
        try? slot.with { (connection) throws(TokenClientError) in connection = nil }
        isTaken.store(false, ordering: .releasing)
    }
}

/// A message that is sent in parts over a connection of its own, which closes with it.
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
        for start in stride(from: 0, to: data.count, by: TokenWire.dataLimit) {
            let part = data[start..<min(start + TokenWire.dataLimit, data.count)]
            _ = try slot.slot.with { (connection) throws(TokenClientError) in
                TokenClient.body(
                    try TokenClient.ask(
                        &connection, .useUpdate(handle: handle, data: part), hasSecret: false,
                        TokenClient.replyTime))
            }
        }
    }

    /// Has the message signed.
    ///
    /// - Throws: `TokenClientError`.
    package func finish() throws(TokenClientError) -> SecretBytes {
        let handle = handle
        return try slot.slot.with { (connection) throws(TokenClientError) in
            let reply = try TokenClient.ask(
                &connection, .useEnd(handle: handle), hasSecret: true, TokenClient.presenceTime)
            guard case .secret(let bytes) = reply else { throw .malformed("the reply is no result") }
            return bytes
        }
    }
}
