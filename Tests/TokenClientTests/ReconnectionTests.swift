import KeyShareProtocol
import KeyShareWire
import PersistentToken
import SecretMemory
import Synchronization
import TestSupport
import Testing

@testable import TokenClient

@Suite("The PKCS #11 module's client and its connections", .timeLimit(.minutes(10)))
struct ReconnectionTests {
    private static let status = TokenStatus(
        changeCount: 1, tokenCount: 1, isUnlocked: true, hasPasscode: true, lockCount: 0, openKeys: 0,
        deviceSerial: "0123456789ABCDEF")
    private static let use = KeyUse(objectID: "a", operation: .sign, algorithm: "RSASignatureRaw")
    private static let busy = ProviderFailure(.serverBusy, "busy")

    private static func client(_ provider: ScriptedProvider) -> TokenClient {
        let client = TokenClient(clientName: "test")
        client.setPath(provider.path)
        return client
    }

    private static func isLogin(_ request: ScriptedProvider.Request) -> Bool {
        request.type == Wire.MessageType.tokenLogin.rawValue
    }

    @Test("A request is repeated on a new connection only if the connection was lost")
    func repetition() throws {
        let provider = try ScriptedProvider { request in
            request.connection == 1 && request.id == 3 ? nil : try request.reply(.tokenStatus(Self.status))
        }
        let client = Self.client(provider)
        for _ in 0..<3 { #expect(try client.state().tokenCount == 1) }
        #expect(provider.connections == 2)
        let refusing = try ScriptedProvider { request in
            request.id == 2
                ? try request.reply(.tokenStatus(Self.status))
                : try request.reply(.tokenFailure(TokenError(.canceledByUser, "no", obstacle: .userDenied)))
        }
        let refused = Self.client(refusing)
        _ = try refused.state()
        let refusal = TokenClientError.token(code: -4, obstacle: "user-denied", reason: "no")
        #expect(throws: refusal) { try refused.use(Self.use, data: [1]) }
        #expect(refusing.requests.count { $0.type == Wire.MessageType.use.rawValue } == 1)
    }

    @Test(
        "A connection is used again after a failure, unless one side received a malformed message")
    func reuse() throws {
        let cases: [(ScriptedProvider.Script, Int)] = [
            ({ try $0.reply(.failure(ProviderFailure(.refused, "no"))) }, 1),
            ({ try $0.reply(.tokenFailure(TokenError(.badParameter, "no"))) }, 1),
            ({ try $0.reply(.failure(ProviderFailure(.malformed, "no"))) }, 2),
            ({ try $0.reply(.failure(ProviderFailure(.unsupportedVersion, "no"))) }, 2),
            ({ $0.frame(type: 0x55) }, 2),
        ]
        for (number, (answer, connections)) in cases.enumerated() {
            let provider = try ScriptedProvider { request in
                request.type == Wire.MessageType.use.rawValue
                    ? try answer(request) : try request.reply(.tokenStatus(Self.status))
            }
            let client = Self.client(provider)
            #expect(throws: TokenClientError.self) { try client.use(Self.use, data: [1]) }
            _ = try client.state()
            #expect(provider.connections == connections, "case \(number)")
        }
    }

    @Test("A provider without the token's features, of another version or at no path is not used")
    func unusable() throws {
        var old = ScriptedProvider.welcome()
        old.version = 1
        for (welcome, isAbsent) in [(ScriptedProvider.welcome([Wire.Feature.token]), true), (old, false)] {
            let provider = try ScriptedProvider(welcome: welcome) { try $0.reply(.tokenStatus(Self.status)) }
            let error = #expect(throws: TokenClientError.self) { try Self.client(provider).state() }
            let isReportedAbsent = if case .absent? = error { true } else { false }
            #expect(isReportedAbsent == isAbsent)
            #expect(provider.requests.count == 1)
        }
        let refusing = try ScriptedProvider(
            pace: 0, all: { try $0.reply(.failure(ProviderFailure(.refused, "no"))) })
        let error = #expect(throws: TokenClientError.self) { try Self.client(refusing).state() }
        #expect(error == .absent("the provider has no token: no"))
        #expect(throws: TokenClientError.self) { try TokenClient(clientName: "test").state() }
    }

    @Test("A busy provider is asked again, also if it was busy at the hello")
    func busyProvider() throws {
        for type in [Wire.MessageType.hello, .tokenStatus] {
            let turns = Mutex(2)
            let provider = try ScriptedProvider(
                pace: 0,
                all: { request in
                    let isBusy = turns.withLock { turns in
                        guard request.type == type.rawValue, turns > 0 else { return false }
                        turns -= 1
                        return true
                    }
                    if isBusy { return try request.reply(.failure(Self.busy)) }
                    return request.type == Wire.MessageType.hello.rawValue
                        ? try request.reply(.welcome(ScriptedProvider.welcome()))
                        : try request.reply(.tokenStatus(Self.status))
                })
            #expect(try Self.client(provider).state().tokenCount == 1)
        }
        let provider = try ScriptedProvider { try $0.reply(.failure(Self.busy)) }
        #expect(throws: TokenClientError.provider(code: 9, reason: "busy")) {
            try Self.client(provider).state()
        }
    }

    @Test("After a time-out, a silent provider is not asked again until the path is set")
    func silentProvider() throws {
        let provider = try ScriptedProvider(pace: 0, all: { _ in [] })
        let client = Self.client(provider)
        #expect(throws: TokenClientError.timedOut) { try client.state() }
        #expect(throws: TokenClientError.timedOut) { try client.state() }
        #expect(provider.connections == 1)
        let other = try ScriptedProvider { try $0.reply(.tokenStatus(Self.status)) }
        client.setPath(other.path)
        #expect(try client.state().tokenCount == 1)
    }

    @Test("The login mode is requested once for each connection")
    func loginMode() throws {
        let provider = try ScriptedProvider { request in
            switch (Self.isLogin(request), request.connection) {
            case (true, 1): try request.reply(.tokenLogin(TokenLoginState(mode: .pin)))
            case (true, _): try request.reply(.tokenLogin(TokenLoginState(mode: .path)))
            case (false, _) where request.body.isEmpty && request.connection == 1 && request.id == 4: nil
            default: try request.reply(.tokenStatus(Self.status))
            }
        }
        let client = Self.client(provider)
        _ = try client.state()
        #expect(try client.loginMode() == .pin)
        #expect(try client.loginMode() == .pin)
        #expect(provider.requests.count(where: Self.isLogin) == 1)
        // The provider ends the connection instead of a reply, so the client opens another one.
        _ = try client.state()
        #expect(provider.connections == 2)
        #expect(try client.loginMode() == .path)
    }

    @Test("A provider without logins receives no login, and its mode is presence")
    func withoutLogins() throws {
        let features = [Wire.Feature.token, Wire.Feature.tokenObjects]
        let provider = try ScriptedProvider(welcome: ScriptedProvider.welcome(features)) {
            try $0.reply(.tokenStatus(Self.status))
        }
        let client = Self.client(provider)
        #expect(try client.loginMode() == .presence)
        #expect(try client.logIn(.presence).ticket.isEmpty)
        #expect(!provider.requests.contains(where: Self.isLogin))
    }

    @Test("Closing a client fails its waiting requests and ends its connections")
    func closing() async throws {
        let provider = try ScriptedProvider { request in
            request.type == Wire.MessageType.use.rawValue ? [] : try request.reply(.tokenStatus(Self.status))
        }
        let client = Self.client(provider)
        _ = try client.state()
        let waiting = Task { try await onOwnThread { try client.use(Self.use, data: [1]) } }
        #expect(await waitUntil { provider.requests.contains { $0.type == Wire.MessageType.use.rawValue } })
        provider.stop()
        client.close()
        await #expect(throws: TokenClientError.self) { try await waiting.value }
        #expect(await waitUntil { provider.ended == provider.connections })
    }

    private static func isUse(_ request: ScriptedProvider.Request) -> Bool {
        request.type == Wire.MessageType.use.rawValue
    }

    @Test(
        "A key use that waits for the user is not sent again after its client was closed",
        arguments: [true, false])
    func closedWhileWaiting(isConnected: Bool) async throws {
        let provider = try ScriptedProvider { request in
            Self.isUse(request) ? [] : try request.reply(.tokenStatus(Self.status))
        }
        let client = Self.client(provider)
        if isConnected { _ = try client.state() }
        let waiting = Task { try await onOwnThread { try client.use(Self.use, data: [1]) } }
        #expect(await waitUntil { provider.requests.contains(where: Self.isUse) })
        client.close()
        await #expect(throws: TokenClientError.lost) { try await waiting.value }
        #expect(provider.requests.count(where: Self.isUse) == 1)
        #expect(try client.state().tokenCount == 1)
    }

    @Test("Other requests are answered while all key uses of a client wait for the user")
    func requestsWhileWaiting() async throws {
        let isOver = Mutex(false)
        let provider = try ScriptedProvider { request in
            guard Self.isUse(request) else { return try request.reply(.tokenStatus(Self.status)) }
            return isOver.withLock { $0 } ? nil : []
        }
        let client = Self.client(provider)
        let waiting = (0..<TokenClient.mostConnections).map { _ in
            Task { try await onOwnThread { try client.use(Self.use, data: [1]) } }
        }
        let most = TokenClient.mostConnections - 1
        #expect(await waitUntil { provider.requests.count(where: Self.isUse) >= most })
        #expect(try client.state().tokenCount == 1)
        #expect(provider.requests.count(where: Self.isUse) == most)
        // The last thread may not have called the client yet.
        isOver.withLock { $0 = true }
        client.close()
        for task in waiting { await #expect(throws: TokenClientError.lost) { try await task.value } }
    }

    @Test("A forked child closes the connections of requests and of messages")
    func forked() async throws {
        let provider = try ScriptedProvider { request in
            request.type == Wire.MessageType.useBegin.rawValue
                ? try request.reply(.useBegun(handle: 1)) : try request.reply(.tokenStatus(Self.status))
        }
        let client = Self.client(provider)
        _ = try client.state()
        let message = try client.beginMessage(Self.use)
        #expect(provider.connections == 2)
        client.closeInherited()
        #expect(await waitUntil { provider.ended == 2 })
        withExtendedLifetime(message) {}
    }
}

@Suite("Lists and messages of the PKCS #11 module's client", .timeLimit(.minutes(10)))
struct LongTransferTests {
    private static let use = KeyUse(
        objectID: "a", operation: .sign, algorithm: "RSASignatureMessagePKCS1v15SHA256")

    private static func client(_ provider: ScriptedProvider) -> TokenClient {
        let client = TokenClient(clientName: "test")
        client.setPath(provider.path)
        return client
    }

    private static func page(
        _ changeCount: UInt64, count: Int = 1, next: String?
    ) -> ProviderReply {
        .tokenObjects(
            TokenObjectPage(
                changeCount: changeCount, holder: "",
                objects: [TokenObject](repeating: WireSamples.tokenObjects[1], count: count), nextCursor: next
            ))
    }

    private static func list(_ script: @escaping ScriptedProvider.Script) throws -> Int {
        let provider = try ScriptedProvider(script)
        return try client(provider).identities().identities.count
    }

    @Test("A list that changes while it is read is read again, at most five times")
    func changingList() throws {
        let expired = ProviderFailure(.notAvailable, "the page has expired")
        for isExpired in [false, true] {
            let turns = Mutex(0)
            let count = try Self.list { request in
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns
                }
                switch turn {
                case 1: return try request.reply(Self.page(1, next: "1:1"))
                case 2: return try request.reply(isExpired ? .failure(expired) : Self.page(2, next: nil))
                case 3: return try request.reply(Self.page(3, next: "3:1"))
                default: return try request.reply(Self.page(3, next: nil))
                }
            }
            #expect(count == 2)
        }
        let changes = Mutex<UInt64>(0)
        let error = #expect(throws: TokenClientError.self) {
            _ = try Self.list { request in
                let change = changes.withLock { changes in
                    changes += 1
                    return changes
                }
                return try request.reply(Self.page(change, next: "next"))
            }
        }
        #expect(error == .malformed("the list of tokens kept changing while it was read"))
        #expect(changes.withLock { $0 } == 10)
    }

    @Test("A first page that is not available is an error")
    func unavailable() throws {
        #expect(throws: TokenClientError.provider(code: 4, reason: "gone")) {
            _ = try Self.list { try $0.reply(.failure(ProviderFailure(.notAvailable, "gone"))) }
        }
    }

    @Test("An endless list is rejected, whether its pages are empty or full")
    func endlessList() throws {
        for count in [0, 400] {
            let error = #expect(throws: TokenClientError.self, "\(count)") {
                _ = try Self.list { try $0.reply(Self.page(1, count: count, next: "next")) }
            }
            #expect(error == .malformed("the list of tokens does not end"))
        }
        // The first page has 16 entries, and the next ones as many as fit in a reply.
        let provider = try ScriptedProvider {
            try $0.reply(Self.page(1, count: 16, next: $0.id == 2 ? "1" : nil))
        }
        #expect(try Self.client(provider).identities().identities.count == 32)
        let limits = provider.requests.dropFirst().map { $0.body.suffix(2).reduce(0) { $0 << 8 | Int($1) } }
        let size = try WireSamples.bytes(Self.page(1, count: 16, next: "1")).count - Wire.headerSize
        #expect(limits == [16, Wire.replyLimit * 15 / 16 / (size / 16)])
    }

    @Test("A message is sent in parts of the longest permitted length")
    func parts() throws {
        let provider = try ScriptedProvider { request in
            switch request.type {
            case Wire.MessageType.useBegin.rawValue: try request.reply(.useBegun(handle: 7))
            case Wire.MessageType.useUpdate.rawValue: try request.reply(.useUpdated(total: 1))
            default: try request.reply(.useEnded(SecretBytes([9])))
            }
        }
        let message = try Self.client(provider).beginMessage(Self.use)
        let data = (0...2 * Wire.useDataLimit).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        try message.append(data)
        #expect(try message.finish() == SecretBytes([9]))
        let parts = provider.requests.filter { $0.type == Wire.MessageType.useUpdate.rawValue }
            .map { $0.body.dropFirst(4) }
        #expect(parts.map(\.count) == [Wire.useDataLimit, Wire.useDataLimit, 1])
        #expect(Array(parts.joined()) == data)
    }

    @Test("A client has at most 64 messages, and a message that ends or fails frees its place")
    func messages() async throws {
        let refusals = Mutex(70)
        let provider = try ScriptedProvider { request in
            let isRefused = refusals.withLock { refusals in
                refusals -= 1
                return refusals >= 0
            }
            return isRefused
                ? try request.reply(.failure(ProviderFailure(.refused, "no")))
                : try request.reply(.useBegun(handle: 1))
        }
        let client = Self.client(provider)
        for _ in 0..<70 {
            #expect(throws: TokenClientError.provider(code: 5, reason: "no")) {
                try client.beginMessage(Self.use)
            }
        }
        var messages: [TokenMessage] = []
        for _ in 0..<TokenClient.mostMessages { messages.append(try client.beginMessage(Self.use)) }
        let error = #expect(throws: TokenClientError.self) { try client.beginMessage(Self.use) }
        guard case .provider(FailureCode.serverBusy.rawValue, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        messages.removeLast()
        #expect(await waitUntil { provider.ended == 71 })
        messages.append(try client.beginMessage(Self.use))
        withExtendedLifetime(messages) {}
    }
}
