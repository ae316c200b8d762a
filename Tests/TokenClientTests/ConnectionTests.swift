import Glibc
import KeyShareProtocol
import KeyShareWire
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import TokenClient

/// The tests pass their own deadlines. A limit of 30 s only distinguishes a deadline from a much later one.
@Suite("A connection of the PKCS #11 module", .timeLimit(.minutes(10)))
struct ConnectionTests {
    private static func connect(
        _ provider: ScriptedProvider, milliseconds: UInt64 = 60_000
    ) throws -> Connection {
        try Connection.connect(path: provider.path, deadline: .after(milliseconds: milliseconds))
    }

    /// Connects to a provider that sends these bytes as its only reply, and requests the status.
    private static func reply(
        within deadline: Deadline = .after(milliseconds: 60_000), to request: TokenRequest = .tokenStatus,
        hasSecret: Bool = false, _ script: @escaping ScriptedProvider.Script
    ) throws -> Connection.Reply {
        let provider = try ScriptedProvider(pace: 0, all: script)
        var connection = try connect(provider)
        return try connection.reply(to: request, hasSecret: hasSecret, deadline: deadline)
    }

    private static func failure(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        [UInt8(code >> 8), UInt8(code & 0xFF), 0, UInt8(reason.utf8.count)] + Array(reason.utf8)
    }

    @Test("A deadline is never later than its limit, and no time is left after it")
    func deadlines() {
        let late = Deadline.after(milliseconds: 600_000)
        #expect(late.atMost(milliseconds: 1_000).millisecondsLeft <= 1_001)
        #expect(late.atMost(milliseconds: 1_000_000).nanoseconds == late.nanoseconds)
        #expect(Deadline(nanoseconds: 0).millisecondsLeft == 0)
        #expect(late.millisecondsLeft > 500_000)
    }

    @Test("A reply must be one frame with the type and the number of its request")
    func replies() throws {
        let malformed: [ScriptedProvider.Script] = [
            { $0.frame(type: 0x8E) }, { $0.frame(type: $0.type) },
            { WireSamples.frame(type: $0.type | 0x80, id: $0.id + 1) },
            { WireSamples.frame(type: 0xFF, id: $0.id + 1, body: Self.failure(5)) },
            { WireSamples.frame(type: $0.type | 0x80, id: 0) },
            { _ in [0, 0, 0, 4, 0x94, 0, 0, 0, 1] }, { _ in [0, 0, 0xFF, 0xFD, 0x94, 0, 0, 0, 1] },
            { _ in [0xFF, 0xFF, 0xFF, 0xFF, 0x94, 0, 0, 0, 1] }, { $0.frame() + [0] },
            { $0.frame() + $0.frame() },
        ]
        for (number, script) in malformed.enumerated() {
            let error = #expect(throws: TokenClientError.self, "reply \(number)") {
                _ = try Self.reply(script)
            }
            guard case .malformed? = error else {
                Issue.record("reply \(number): \(String(describing: error))")
                continue
            }
        }
        #expect(throws: TokenClientError.lost) { _ = try Self.reply { _ in nil } }
    }

    @Test("The longest frame of the protocol is accepted")
    func longestFrame() throws {
        let body = [UInt8](repeating: 7, count: Wire.replyLimit - Wire.headerSize)
        guard case .plain(let received) = try Self.reply({ $0.frame(body) }) else {
            Issue.record("the reply is a secret")
            return
        }
        #expect(received == body)
        guard case .secret(let secret) = try Self.reply(hasSecret: true, { $0.frame([1, 2]) }) else {
            Issue.record("the reply is not a secret")
            return
        }
        #expect(secret == SecretBytes([1, 2]))
    }

    @Test("A failure of the provider, of the token and without a request is reported with its code")
    func failures() throws {
        let error = TokenError(.authenticationNeeded, "locked", obstacle: .deviceLocked)
        let expected: [(ScriptedProvider.Script, TokenClientError)] = [
            ({ $0.frame(type: 0xFF, Self.failure(5, "no")) }, .provider(code: 5, reason: "no")),
            (
                { _ in WireSamples.frame(type: 0xFF, id: 0, body: Self.failure(1, "x")) },
                .provider(code: 1, reason: "x")
            ),
            (
                { try $0.reply(.tokenFailure(error)) },
                .token(code: -9, obstacle: "device-locked", reason: "locked")
            ),
        ]
        for (script, failure) in expected {
            #expect(throws: failure) { _ = try Self.reply(script) }
        }
    }

    @Test("A request without a reply times out, even if its deadline has already passed")
    func silence() throws {
        for deadline in [Deadline.after(milliseconds: 30), Deadline(nanoseconds: 0)] {
            #expect(throws: TokenClientError.timedOut) { _ = try Self.reply(within: deadline) { _ in [] } }
        }
    }

    @Test("A short deadline also applies after a request with a long one")
    func laterDeadline() throws {
        let provider = try ScriptedProvider(pace: 0, all: { $0.id == 1 ? $0.frame() : [] })
        var connection = try Self.connect(provider)
        let begun = ContinuousClock.now
        #expect(throws: TokenClientError.timedOut) {
            for milliseconds: UInt64 in [60_000, 50] {
                _ = try connection.reply(
                    to: .tokenStatus, hasSecret: false, deadline: .after(milliseconds: milliseconds))
            }
        }
        #expect(ContinuousClock.now - begun < .seconds(30))
    }

    @Test("A frame that has begun must be complete after a short time, whatever the deadline of the reply")
    func truncatedFrame() throws {
        let begun = ContinuousClock.now
        #expect(throws: TokenClientError.timedOut) {
            _ = try Self.reply { Array($0.frame([1, 2, 3]).dropLast()) }
        }
        #expect(ContinuousClock.now - begun < .seconds(30))
    }

    @Test("A reply that arrives byte by byte does not extend the deadline")
    func dribble() throws {
        let body = [UInt8](repeating: 7, count: 2_000)
        let provider = try ScriptedProvider(pace: 1_000, all: { $0.frame(body) })
        var connection = try Self.connect(provider)
        #expect(throws: TokenClientError.timedOut) {
            _ = try connection.reply(
                to: .tokenStatus, hasSecret: false, deadline: .after(milliseconds: 100))
        }
    }

    @Test("A reply that arrives byte by byte before the deadline is complete")
    func fragments() throws {
        let provider = try ScriptedProvider(pace: 1_000, all: { $0.frame([1, 2, 3]) })
        var connection = try Self.connect(provider)
        let reply = try connection.reply(
            to: .tokenStatus, hasSecret: false, deadline: .after(milliseconds: 60_000))
        guard case .plain([1, 2, 3]) = reply else {
            Issue.record("\(reply)")
            return
        }
    }

    @Test("A provider of another user is not used", .enabled(if: geteuid() == 0, "needs root"))
    func otherUser() async throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let listener = try ScriptedProvider.listen(at: path)
            // A client sees the user who called listen(2) last.
            try #require(seteuid(65_534) == 0 && listen(listener, 1) == 0 && seteuid(0) == 0)
            var error: TokenClientError?
            do throws(TokenClientError) {
                _ = try Connection.connect(path: path, deadline: .after(milliseconds: 60_000))
            } catch let failure {
                error = failure
            }
            try #require(error == .absent("the provider that listens on \(path) belongs to another user"))
        }
    }

    @Test("A provider with a full queue of connections causes a time-out")
    func fullQueue() throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let listener = try ScriptedProvider.listen(at: path, backlog: 0)
        defer { close(listener) }
        let waiting = try RawPeer(path: path)
        #expect(throws: TokenClientError.timedOut) {
            _ = try Connection.connect(path: path, deadline: .after(milliseconds: 30))
        }
        withExtendedLifetime(waiting) {}
    }

    @Test("A connection closes its descriptor, unless the program has reused the descriptor's number")
    func descriptors() async throws {
        let provider = try ScriptedProvider { $0.frame() }
        do {
            let connection = try Self.connect(provider)
            let isOurs = connection.isOurs
            #expect(isOurs)
        }
        #expect(await waitUntil { provider.ended == 1 })
        let descriptor: CInt
        do {
            let connection = try Self.connect(provider)
            descriptor = connection.descriptor
            try Self.replace(descriptor)
            let isOurs = connection.isOurs
            #expect(!isOurs)
        }
        #expect(fcntl(descriptor, F_GETFD) >= 0)
        close(descriptor)
    }

    @Test("A forked child closes the inherited descriptor, unless the child has reused its number")
    func inherited() async throws {
        let provider = try ScriptedProvider { $0.frame() }
        let slot = ConnectionSlot()
        try slot.with { (connection) throws(TokenClientError) in
            connection = try Connection.connect(path: provider.path, deadline: .after(milliseconds: 60_000))
        }
        slot.closeInherited()
        #expect(await waitUntil { provider.ended == 1 })
        let other = ConnectionSlot()
        let descriptor = try other.with { (connection) throws(TokenClientError) -> CInt in
            connection = try Connection.connect(path: provider.path, deadline: .after(milliseconds: 60_000))
            return connection?.descriptor ?? -1
        }
        let end = try Self.replace(descriptor)
        other.interrupt()
        other.closeInherited()
        #expect(fcntl(descriptor, F_GETFD) >= 0)
        // A socket that was shut down has no more data.
        var byte: UInt8 = 0
        let received = unsafe recv(descriptor, &byte, 1, CInt(MSG_DONTWAIT))
        #expect(received == -1)
        close(descriptor)
        close(end)
    }

    @Test("An interrupted request fails at once")
    func interrupted() async throws {
        let provider = try ScriptedProvider(pace: 0, all: { _ in [] })
        let slot = ConnectionSlot()
        try slot.with { (connection) throws(TokenClientError) in
            connection = try Connection.connect(path: provider.path, deadline: .after(milliseconds: 60_000))
        }
        let waiting = Task {
            try await onOwnThread {
                try slot.with { (connection) throws(TokenClientError) in
                    _ = try connection?.reply(
                        to: .tokenStatus, hasSecret: false, deadline: .after(milliseconds: 120_000))
                }
            }
        }
        #expect(await waitUntil { provider.requests.count == 1 })
        slot.interrupt()
        await #expect(throws: TokenClientError.lost) { try await waiting.value }
    }

    /// Replaces a descriptor with one end of a socket pair, and returns the other end.
    @discardableResult
    private static func replace(_ descriptor: CInt) throws -> CInt {
        var ends: [CInt] = [-1, -1]
        let result = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
        try #require(result == 0)
        try #require(dup2(ends[0], descriptor) == descriptor)
        close(ends[0])
        return ends[1]
    }
}
