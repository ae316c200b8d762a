import LocalSockets
import LoopbackHTTP
import SecretMemory
import Logging
import TestSupport
import Testing

@Suite("The server on the loopback")
struct LoopbackServerTests {
    /// Runs a server that says back what it was asked, and sees it stop cleanly.
    private func withServer(
        limits adjust: (inout LoopbackServer.Limits) -> Void = { _ in },
        answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = Self.echo,
        _ body: (Int) async throws -> Void
    ) async throws {
        var limits = LoopbackServer.Limits()
        // No deadline but those a test sets: a busy machine is nobody's fault.
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

    /// Whether anybody answers. Not whether anybody listens: a process that another test starts at this moment
    /// has a copy of the listening socket until its program is loaded.
    private func isServed(_ port: Int) async -> Bool {
        let reply = try? await LoopbackPeer.ask("GET", "/", port: port)
        return reply != nil
    }

    @Sendable private static func echo(_ query: HTTPRequest) async -> HTTPResponse {
        HTTPResponse(
            contentType: "text/plain",
            body: Array("\(query.method.rawValue) \(query.path) ".utf8) + query.body)
    }

    @Test("answers one request a connection, and says how long the answer is")
    func answers() async throws {
        try await withServer { port in
            let reply = try #require(
                try await LoopbackPeer.ask("POST", "/a%20b?c", body: [0x41, 0x42], port: port))
            #expect(reply.status == 200)
            #expect(String(decoding: reply.body, as: UTF8.self) == "POST /a%20b AB")
            #expect(reply.fields["content-type"] == "text/plain")
            #expect(reply.fields["content-length"] == "\(reply.body.count)")
            #expect(reply.fields["connection"] == "close")

            let head = try #require(try await LoopbackPeer.ask("HEAD", "/x", port: port))
            #expect((head.body, head.fields["content-length"]) == ([], "8"))
        }
    }

    @Test("passes on what shows who asks, and prints nothing of it")
    func authorization() async throws {
        let answer = { @Sendable (query: HTTPRequest) async -> HTTPResponse in
            .text(query.authorization == SecretBytes(utf8: "Bearer x y") ? 200 : 401, "\(query)")
        }
        try await withServer(answer: answer) { port in
            for (field, status) in [("authorization: Bearer x y\r\n", 200), ("", 401)] {
                let peer = try LoopbackPeer(port: port)
                await peer.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\(field)\r\n".utf8))
                let reply = try #require(LoopbackPeer.Reply(await peer.rest()))
                #expect(reply.status == status)
                #expect(!String(decoding: reply.body, as: UTF8.self).contains("x y"))
            }
        }
    }

    @Test("forbids caches to keep an answer that must not be, and no other")
    func caching() async throws {
        let answer = { @Sendable (query: HTTPRequest) async -> HTTPResponse in
            .text(200, "", mayBeStored: query.path == "/public")
        }
        try await withServer(answer: answer) { port in
            let stored = try await LoopbackPeer.ask("GET", "/public", port: port)?.fields
            #expect(try #require(stored)["cache-control"] == nil)
            let other = try await LoopbackPeer.ask("GET", "/", port: port)?.fields
            #expect(try #require(other)["cache-control"] == "no-store")
        }
    }

    @Test("answers without being run, until it is closed, which ends a run too")
    func end() async throws {
        var limits = LoopbackServer.Limits()
        limits.time = .seconds(600)
        let server = try await LoopbackServer(
            try LoopbackAddress("127.0.0.1:0"), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, answer: Self.echo)
        let port = server.address.port
        #expect(try await LoopbackPeer.ask("GET", "/", port: port)?.status == 200)
        let running = Task { try await server.run() }
        await server.close()
        #expect(await !isServed(port))
        try await running.value
        await server.close()
    }

    @Test("takes a body in pieces, and nothing behind the request")
    func pieces() async throws {
        try await withServer { port in
            let peer = try LoopbackPeer(port: port)
            for part in [
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "2\r\nab\r\n",
                "1\r\nc\r\n",
                "0\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n",
            ] {
                await peer.send(Array(part.utf8))
            }
            let reply = try #require(LoopbackPeer.Reply(await peer.rest()))
            #expect(String(decoding: reply.body, as: UTF8.self) == "POST / abc")
        }
    }

    @Test(
        "refuses other methods and what is no HTTP",
        arguments: [("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", 405), ("no such thing\r\n\r\n", 400)])
    func refusals(request: String, status: Int) async throws {
        try await withServer { port in
            let peer = try LoopbackPeer(port: port)
            await peer.send(Array(request.utf8))
            #expect(LoopbackPeer.Reply(await peer.rest())?.status == status)
        }
    }

    @Test("closes on a request that is too large, wherever it is", arguments: ["head", "body", "claim"])
    func tooLarge(place: String) async throws {
        try await withServer(limits: { $0.requestBytes = 1_000 }) { port in
            let filling = String(repeating: "x", count: 10_000)
            let request =
                switch place {
                case "head": "GET /\(filling) HTTP/1.1\r\nHost: x\r\n\r\n"
                case "body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n\(filling)"
                default: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n\r\n\(filling)"
                }
            let peer = try LoopbackPeer(port: port)
            await peer.send(Array(request.utf8))
            #expect(LoopbackPeer.Reply(await peer.rest())?.status != 200)
            #expect(try await LoopbackPeer.ask("GET", "/", port: port)?.status == 200)
        }
    }

    @Test("closes on peers that are too slow to ask, and on those that never do")
    func deadlines() async throws {
        try await withServer(limits: { $0.time = .milliseconds(50) }) { port in
            let silent = try LoopbackPeer(port: port)
            let slow = try LoopbackPeer(port: port)
            await slow.send(Array("GET / HTTP/1.1\r\n".utf8))
            #expect(await silent.rest() == [])
            #expect(await slow.rest() == [])
        }
    }

    @Test("lets the oldest connection go when there is no room, and serves the newcomer")
    func crowd() async throws {
        try await withServer(limits: { $0.connections = 4 }) { port in
            let hoarders = try (0..<20).map { _ in try LoopbackPeer(port: port) }
            #expect(try await LoopbackPeer.ask("GET", "/", port: port)?.status == 200)
            #expect(await hoarders[0].rest() == [])
        }
    }

    @Test("is done with a peer that leaves in the middle")
    func leaving() async throws {
        try await withServer { port in
            let peer = try LoopbackPeer(port: port)
            await peer.send(Array("GET / HT".utf8))
            peer.finishSending()
            #expect(LoopbackPeer.Reply(await peer.rest())?.status != 200)
        }
    }

    @Test("says that its port is taken")
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

    @Test("listens on addresses of this machine alone")
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
