import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import NIOCore
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@Suite("Token requests in a session", .timeLimit(.minutes(10)))
struct TokenSessionTests {
    private static let use = TokenUse(
        objectID: WireSamples.identifier, .ecdsaSignatureX962(.message, .sha256), data: [1, 2, 3])

    /// A client that uses `version` with a provider that has a token.
    private static func peer(version: UInt16 = 2) throws -> (
        peer: ScriptedPeer, welcome: [ScriptedPeer.Answer]
    ) {
        var peer = ScriptedPeer(greeted: false, features: Wire.Feature.all)
        let hello = Hello(minimumVersion: 1, maximumVersion: version, clientName: "", services: [])
        let welcome = try peer.ask(.hello(hello))
        return (peer, welcome)
    }

    @Test("Only the version 2 welcome announces the token feature and longer requests")
    func welcome() throws {
        let newer = Welcome(
            version: 2, serverName: "test", services: [], requestLimit: 65_536,
            features: ["statistics", "events", "token", "token-objects", "token-login", "aliases"])
        #expect(try Self.peer().welcome == [.reply(.welcome(newer), 1)])
        let older = Welcome(version: 1, serverName: "test", services: [])
        #expect(try Self.peer(version: 1).welcome == [.reply(.welcome(older), 1)])
    }

    @Test("Requests about tokens and aliases are unknown in version 1, and to a provider without them")
    func unknown() throws {
        let requests = WireSamples.version2.requests.map(\.request).filter {
            ![.hello, .statistics, .events].contains($0.messageType)
        }
        #expect(requests.count == 21)
        for request in requests {
            var older = try Self.peer(version: 1).peer
            #expect(try older.ask(request) == [.failure(.unknownRequest, 1)])
            var without = ScriptedPeer(greeted: false)
            _ = try without.ask(
                .hello(Hello(minimumVersion: 2, maximumVersion: 2, clientName: "", services: [])))
            #expect(try without.ask(request) == [.failure(.unknownRequest, 1)])
        }
    }

    @Test("A request about aliases over a limit is refused, and unknown to a provider without aliases")
    func aliasLimits() throws {
        let many = [String](repeating: "a", count: Wire.aliasListLimit + 1)
        let query = AliasQueryRequest(app: "a", columns: many)
        let choice = AliasChoiceRequest(app: "a", keyTypes: many)
        for request in [ProviderRequest.aliasQuery(query), .aliasChoose(choice)] {
            var peer = try Self.peer().peer
            #expect(try peer.ask(request) == [.failure(.refused, 1)])
            var without = ScriptedPeer(greeted: false, features: [Wire.Feature.token])
            _ = try without.ask(
                .hello(Hello(minimumVersion: 2, maximumVersion: 2, clientName: "", services: [])))
            #expect(try without.ask(request) == [.failure(.unknownRequest, 1)])
        }
    }

    @Test("A request of more than 4,096 bytes closes a version 1 connection and is accepted in version 2")
    func longRequests() throws {
        var use = Self.use
        use.data = [UInt8](repeating: 7, count: Wire.useDataLimit)
        var bytes = ByteBuffer()
        try ProviderRequest.use(use).encode(id: 1, into: &bytes, limit: Wire.longRequestLimit)
        let frame = Array(bytes.readableBytesView)
        var older = try Self.peer(version: 1).peer
        #expect(older.give(frame) == [.failure(.malformed, 0), .close(.violation)])
        var newer = try Self.peer().peer
        #expect(newer.give(frame) == [.perform(.use(use), 1)])
        use.data.append(7)
        bytes = ByteBuffer()
        try ProviderRequest.use(use).encode(id: 2, into: &bytes, limit: Wire.longRequestLimit)
        #expect(newer.give(Array(bytes.readableBytesView)) == [.failure(.refused, 2)])
        for (count, id) in [(Wire.useDataLimit, UInt32(3)), (Wire.useDataLimit + 1, 4)] {
            let data = [UInt8](repeating: 7, count: count)
            bytes = ByteBuffer()
            try ProviderRequest.useUpdate(handle: 1, data: data)
                .encode(id: id, into: &bytes, limit: Wire.longRequestLimit)
            let isLong = count > Wire.useDataLimit
            let answer: ScriptedPeer.Answer =
                isLong ? .failure(.refused, id) : .message(.append(handle: 1, data: data), id)
            #expect(newer.give(Array(bytes.readableBytesView)) == [answer])
        }
        // A length above the longer limit is rejected before any bytes are awaited.
        #expect(newer.give([0, 1, 0, 0]) == [.failure(.malformed, 0), .close(.violation)])
    }

    @Test("A key use becomes a provider call, and its outcome becomes the reply, even after grants end")
    func use() throws {
        var peer = try Self.peer().peer
        #expect(try peer.ask(.use(Self.use), id: 5) == [.perform(.use(Self.use), 5)])
        peer.session.endGrants()
        #expect(
            peer.complete(.used(SecretBytes([9]))) == [.reply(.used(SecretBytes([9])), 5)])
        _ = try peer.ask(.use(Self.use), id: 6)
        let error = TokenError(.canceledByUser, "no", obstacle: .userDenied)
        #expect(peer.complete(.tokenFailed(error)) == [.reply(.tokenFailure(error), 6)])
        _ = try peer.ask(.useEnd(handle: 3), id: 7)
        #expect(
            peer.complete(.used(SecretBytes([8]))) == [.reply(.useEnded(SecretBytes([8])), 7)])
    }

    @Test("A request for a token's objects becomes a call for at most 256 objects")
    func objects() throws {
        var peer = try Self.peer().peer
        for (asked, limit): (UInt16, Int) in [(0, 256), (7, 7), (257, 256)] {
            let call = ProviderCall.tokenObjects(cursor: "7:2", limit: limit)
            #expect(
                try peer.ask(.tokenObjects(cursor: "7:2", limit: asked), id: 5) == [.perform(call, 5)])
            let failure = ProviderFailure(.notAvailable, "changed")
            #expect(peer.complete(.failed(failure)) == [.failure(.notAvailable, 5)])
        }
    }

    @Test("A login becomes a call, and its failure is a token's failure")
    func logins() throws {
        var peer = try Self.peer().peer
        let passcode = TokenLogin.Passcode(SecretBytes(utf8: "123456"))
        for login in [TokenLogin.state, .presence, .passcode(passcode)] {
            #expect(try peer.ask(.tokenLogin(login), id: 5) == [.perform(.logIn(login), 5)])
            let error = TokenError(.authenticationFailed, "no")
            #expect(peer.complete(.tokenFailed(error)) == [.reply(.tokenFailure(error), 5)])
        }
    }

    @Test("A key use carries the name that the client gave in its hello")
    func app() throws {
        var peer = ScriptedPeer(greeted: false, features: Wire.Feature.all)
        _ = try peer.ask(
            .hello(Hello(minimumVersion: 1, maximumVersion: 2, clientName: "mail", services: [])))
        var use = Self.use
        use.app = "mail"
        #expect(try peer.ask(.use(Self.use)) == [.perform(.use(use), 1)])
        use.data = []
        #expect(try peer.ask(.useBegin(use)) == [.message(.begin(use), 1)])
    }

    @Test("The steps of a multipart message are applied in order, and the length of lists is limited")
    func others() throws {
        var peer = try Self.peer().peer
        var beginning = Self.use
        beginning.data = []
        #expect(try peer.ask(.useBegin(beginning)) == [.message(.begin(beginning), 1)])
        #expect(
            try peer.ask(.useUpdate(handle: 1, data: [4])) == [.message(.append(handle: 1, data: [4]), 1)])
        #expect(try peer.ask(.useCancel(handle: 1)) == [.message(.cancel(handle: 1), 1)])
        #expect(try peer.ask(.useEnd(handle: 1)) == [.perform(.useOfMultipartMessage(handle: 1), 1)])
        #expect(
            try peer.ask(.tokens(cursor: "x", limit: 0)) == [.perform(.tokens(cursor: "x", limit: 256), 1)])
        #expect(try peer.ask(.tokenStatus) == [.perform(.tokenStatus, 1)])
        var long = Self.use
        long.objectID = String(repeating: "x", count: 257)
        #expect(try peer.ask(.use(long)) == [.failure(.refused, 1)])
    }
}
