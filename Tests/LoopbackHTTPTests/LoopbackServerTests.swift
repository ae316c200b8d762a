import LocalSockets
import Logging
import LoopbackHTTP
import SecretMemory
import Synchronization
import TestSupport
import Testing

@Suite("The HTTP server on the loopback address")
struct LoopbackServerTests {
    /// Runs a server while `body` runs, and checks that it stops cleanly. `body` gets the port.
    private func withServer(
        limits adjust: (inout LoopbackServer.Limits) -> Void = { _ in },
        answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = Self.echo,
        _ body: (Int) async throws -> Void
    ) async throws {
        var limits = LoopbackServer.Limits()
        // No test fails because the machine is busy: deadlines are long unless a test sets one.
        limits.time = .seconds(600)
        adjust(&limits)
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, answer: answer)
        let running = Task { try await server.run() }
        let result = await Result { () async throws in try await body(server.address.port) }
        running.cancel()
        try await running.value
        try result.get()
        #expect(await !isServed(server.address.port))
    }

    /// Tells whether a server answers. A connection alone proves nothing: a process that another test starts at this
    /// moment has a copy of the listening socket until its program is loaded.
    private func isServed(_ port: Int) async -> Bool {
        let reply = try? await RawPeer.http("GET", "/", port: port)
        return reply != nil
    }

    @Sendable private static func echo(_ request: HTTPRequest) async -> HTTPResponse {
        HTTPResponse(
            contentType: "text/plain",
            body: Array("\(request.method.rawValue) \(request.path) ".utf8) + request.body)
    }

    @Test("A stream goes on behind its head part by part, and ends with its source")
    func stream() async throws {
        var limits = LoopbackServer.Limits()
        limits.isForOwnUserOnly = true
        let (parts, source) = AsyncStream<[UInt8]>.makeStream()
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            streaming: { request in
                #expect(request.query == "a=b" && request.field("HOST")?.hasPrefix("127.0.0.1:") == true)
                let head = HTTPResponse(
                    contentType: "text/event-stream", body: Array("head,".utf8), fields: ["X-Test": "yes"])
                return .stream(head, parts)
            })
        source.yield(Array("one,".utf8))
        source.yield(Array("two".utf8))
        source.finish()
        let reply = try #require(try await RawPeer.http("GET", "/?a=b", port: server.address.port))
        #expect(reply.status == 200 && reply.fields["x-test"] == "yes")
        #expect(reply.fields["transfer-encoding"] == "chunked" && reply.fields["content-length"] == nil)
        let text = String(decoding: reply.body, as: UTF8.self)
        for part in ["head,", "one,", "two"] { #expect(text.contains(part)) }
        await server.close()
    }

    @Test("The server answers one request on a connection, and says how long the answer is")
    func answers() async throws {
        try await withServer { port in
            let reply = try #require(
                try await RawPeer.http("POST", "/a%20b?c", body: [0x41, 0x42], port: port))
            #expect(reply.status == 200)
            #expect(String(decoding: reply.body, as: UTF8.self) == "POST /a%20b AB")
            #expect(reply.fields["content-type"] == "text/plain")
            #expect(reply.fields["content-length"] == "\(reply.body.count)")
            #expect(reply.fields["connection"] == "close")

            let head = try #require(try await RawPeer.http("HEAD", "/x", port: port))
            #expect((head.body, head.fields["content-length"]) == ([], "8"))
        }
    }

    @Test("Answers wait for their turn, and the answer of a connection that has ended is not made")
    func leavers() async throws {
        let (gate, asked) = (Gate(), Asked())
        var limits = LoopbackServer.Limits()
        limits.time = .seconds(600)
        limits.connections = 3
        limits.answersAtOnce = 1
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { request in
            asked.paths.withLock { $0.append(request.path) }
            await gate.pass()
            return .text(200, request.path)
        }
        let port = server.address.port
        var peers: [RawPeer] = []
        for path in ["/first", "/second", "/third"] {
            let peer = try RawPeer(port: port)
            try await peer.send(Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            peers.append(peer)
            if path == "/first" { await gate.arrival() }
        }
        // Each closes the oldest connection. Status 405 needs no answer of ours, so that it shows that the server has
        // seen all that came before.
        let newer = try RawPeer(port: port)
        let newest = try RawPeer(port: port)
        #expect(try await newest.http(Array("PUT / HTTP/1.1\r\nHost: x\r\n\r\n".utf8))?.status == 405)
        gate.open()
        #expect(HTTPReply(try await peers[2].rest())?.status == 200)
        #expect(asked.paths.withLock { $0 } == ["/first", "/third"])
        await server.close()
        withExtendedLifetime(newer) {}
    }

    private final class Asked: Sendable {
        let paths = Mutex<[String]>([])
    }

    @Test("A handler gets the value of Authorization, and printing the request does not show it")
    func authorization() async throws {
        let answer = { @Sendable (request: HTTPRequest) async -> HTTPResponse in
            .text(request.authorization == SecretBytes(utf8: "Bearer x y") ? 200 : 401, "\(request)")
        }
        try await withServer(answer: answer) { port in
            for (field, status) in [("authorization: Bearer x y\r\n", 200), ("", 401)] {
                let peer = try RawPeer(port: port)
                let request = "GET / HTTP/1.1\r\nHost: x\r\n\(field)\r\n"
                let reply = try #require(try await peer.http(Array(request.utf8)))
                #expect(reply.status == status)
                #expect(!String(decoding: reply.body, as: UTF8.self).contains("x y"))
            }
        }
    }

    @Test("A response that must not be stored has no-store, and no other has")
    func caching() async throws {
        let answer = { @Sendable (request: HTTPRequest) async -> HTTPResponse in
            .text(200, "", mayBeStored: request.path == "/public")
        }
        try await withServer(answer: answer) { port in
            let stored = try await RawPeer.http("GET", "/public", port: port)?.fields
            #expect(try #require(stored)["cache-control"] == nil)
            let other = try await RawPeer.http("GET", "/", port: port)?.fields
            #expect(try #require(other)["cache-control"] == "no-store")
        }
    }

    @Test("The server answers before it is run, and closing it ends the run")
    func end() async throws {
        var limits = LoopbackServer.Limits()
        limits.time = .seconds(600)
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, answer: Self.echo)
        let port = server.address.port
        #expect(try await RawPeer.http("GET", "/", port: port)?.status == 200)
        let running = Task { try await server.run() }
        await server.close()
        #expect(await !isServed(port))
        try await running.value
        await server.close()
    }

    @Test("The server takes a body in pieces, and ignores what follows the request")
    func pieces() async throws {
        try await withServer { port in
            let peer = try RawPeer(port: port)
            for part in [
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "2\r\nab\r\n",
                "1\r\nc\r\n",
                "0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n",
            ] {
                try await peer.send(Array(part.utf8))
            }
            let reply = try #require(HTTPReply(try await peer.rest()))
            #expect(String(decoding: reply.body, as: UTF8.self) == "POST / abc")
        }
    }

    @Test(
        "Other methods get status 405, and bytes that are no HTTP get status 400",
        arguments: [("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", 405), ("no such thing\r\n\r\n", 400)])
    func refusals(request: String, status: Int) async throws {
        try await withServer { port in
            let peer = try RawPeer(port: port)
            #expect(try await peer.http(Array(request.utf8))?.status == status)
        }
    }

    @Test(
        "A request that is too large in head, body or claim loses its connection",
        arguments: ["head", "body", "claim"])
    func tooLarge(place: String) async throws {
        try await withServer(limits: { $0.requestBytes = 1_000 }) { port in
            let filling = String(repeating: "x", count: 10_000)
            let request =
                switch place {
                case "head": "GET /\(filling) HTTP/1.1\r\nHost: x\r\n\r\n"
                case "body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n\(filling)"
                default: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n\r\n\(filling)"
                }
            let peer = try RawPeer(port: port)
            #expect(try await peer.http(Array(request.utf8))?.status != 200)
            #expect(try await RawPeer.http("GET", "/", port: port)?.status == 200)
        }
    }

    @Test("The server closes connections without a whole request at the deadline")
    func deadlines() async throws {
        try await withServer(limits: { $0.time = .milliseconds(50) }) { port in
            let silent = try RawPeer(port: port)
            let slow = try RawPeer(port: port)
            try await slow.send(Array("GET / HTTP/1.1\r\n".utf8))
            #expect(try await silent.rest() == [])
            #expect(try await slow.rest() == [])
        }
    }

    @Test("When there are too many connections, the oldest is closed and the new one is served")
    func crowd() async throws {
        try await withServer(limits: { $0.connections = 4 }) { port in
            let hoarders = try (0..<20).map { _ in try RawPeer(port: port) }
            #expect(try await RawPeer.http("GET", "/", port: port)?.status == 200)
            #expect(try await hoarders[0].rest() == [])
        }
    }

    @Test("A peer that finishes sending within a request gets no answer with status 200")
    func leaving() async throws {
        try await withServer { port in
            let peer = try RawPeer(port: port)
            try await peer.send(Array("GET / HT".utf8))
            peer.finishSending()
            #expect(HTTPReply(try await peer.rest())?.status != 200)
        }
    }

    @Test("A port that is taken gives the code addressInUse")
    func taken() async throws {
        try await withServer { port in
            let error = await #expect(throws: SocketError.self) {
                try await LoopbackServer(
                    try LoopbackAddress("127.0.0.1:\(port)"),
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, answer: Self.echo)
            }
            #expect(error?.code == .addressInUse)
        }
    }

    @Test("Only addresses that this machine alone reaches are accepted")
    func addresses() throws {
        #expect(try LoopbackAddress("127.0.0.1:80").description == "127.0.0.1:80")
        #expect(try LoopbackAddress("[::1]:0").description == "[::1]:0")
        for text in [
            "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:+1",
            "0.0.0.0:80", "localhost:80", "192.0.2.1:80", "[::]:80", "::1:80", "127.0.0.1:80 ",
        ] {
            let error = #expect(throws: SocketError.self) { try LoopbackAddress(text) }
            #expect(error?.code == .notLoopback, "\(text)")
        }
    }
}
