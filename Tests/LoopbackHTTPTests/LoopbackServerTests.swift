import Foundation
import LocalSockets
import Logging
import LoopbackHTTP
import SecretMemory
import Synchronization
import TestSupport
import Testing

@Suite("The HTTP server on the loopback address", .timeLimit(.minutes(10)))
struct LoopbackServerTests {
    /// Runs a server while `body` runs, calls `body` with the port, and checks that the server stops cleanly.
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

    /// Returns whether a server answers on the port. A successful connection is not sufficient: a process that another
    /// test is starting has a copy of the listening socket until its program is loaded.
    private func isServed(_ port: Int) async -> Bool {
        let reply = try? await RawPeer.http("GET", "/", port: port)
        return reply != nil
    }

    @Sendable private static func echo(_ request: HTTPRequest) async -> HTTPResponse {
        HTTPResponse(
            contentType: "text/plain",
            body: Array("\(request.method.rawValue) \(request.path) ".utf8) + request.body)
    }

    @Test("A header field that a request contains several times has no value")
    func repeatedField() {
        let request = HTTPRequest(method: .get, path: "/", fields: ["once": ["1"], "twice": ["1", "2"]])
        #expect(request.field("Once") == "1")
        #expect(request.field("Twice") == nil)
        #expect(request.field("Never") == nil)
    }

    @Test("A streaming response sends each part after the head as it arrives, and ends when its source ends")
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

    @Test("The server answers one request for each connection, and sends the length of the response")
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

    @Test("Requests are queued, and no response is computed for a closed connection")
    func abandonedConnections() async throws {
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
        // Each new connection closes the oldest one. The server sends status 405 without the queue, so this response
        // proves that the server has read all earlier requests.
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

    @Test("A handler receives the Authorization header, and printing the request does not reveal it")
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

    @Test("Only a response that must not be stored has the no-store directive")
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

    @Test("The server answers before run() is called, and closing the server ends run()")
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

    @Test("The server accepts a body that arrives in pieces, and ignores bytes after the request")
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
        "Unsupported methods get status 405, and bytes that are not HTTP get status 400",
        arguments: [("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", 405), ("no such thing\r\n\r\n", 400)])
    func refusals(request: String, status: Int) async throws {
        try await withServer { port in
            let peer = try RawPeer(port: port)
            #expect(try await peer.http(Array(request.utf8))?.status == status)
        }
    }

    @Test(
        "The server closes the connection if a request's head, body or declared length is too large",
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

    @Test("A request may be as large as the limit, and one more byte closes the connection")
    func largestRequest() async throws {
        let start = "GET / HTTP/1.1\r\nHost: x\r\nX: "
        try await withServer(limits: { $0.requestBytes = 1_000 }) { port in
            for (size, status) in [(1_000, 200), (1_001, nil)] as [(Int, Int?)] {
                let filling = String(repeating: "x", count: size - start.utf8.count - 4)
                let peer = try RawPeer(port: port)
                #expect(try await peer.http(Array((start + filling + "\r\n\r\n").utf8))?.status == status)
            }
        }
    }

    @Test("Only the first request of a connection reaches the handler")
    func laterRequests() async throws {
        let asked = Asked()
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            asked.paths.withLock { $0.append(request.path) }
            return await Self.echo(request)
        }
        try await withServer(answer: answer) { port in
            for _ in 0..<20 {
                let requests = (1...3).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
                let peer = try RawPeer(port: port)
                #expect(try await peer.http(Array(requests.utf8))?.status == 200)
            }
            // The server reads these after all others.
            #expect(try await RawPeer.http("GET", "/1", port: port)?.status == 200)
        }
        let paths = Set(asked.paths.withLock { $0 })
        #expect(paths.isSubset(of: ["/1", "/"]) && paths.contains("/1"))
    }

    @Test("The number of responses that the server computes concurrently never exceeds its limit")
    func answersAtOnce() async throws {
        let running = Mutex(0)
        let most = Mutex(0)
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            let count = running.withLock { running in
                running += 1
                return running
            }
            most.withLock { $0 = max($0, count) }
            for _ in 0..<200 { await Task.yield() }
            running.withLock { $0 -= 1 }
            return await Self.echo(request)
        }
        try await withServer(limits: { $0.answersAtOnce = 1 }, answer: answer) { port in
            try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<20 { group.addTask { try await RawPeer.http("GET", "/", port: port)?.status } }
                for try await status in group { #expect(status == 200) }
            }
        }
        #expect(most.withLock(\.self) == 1)
    }

    @Test("The server closes connections without a complete request at the deadline")
    func deadlines() async throws {
        try await withServer(limits: { $0.time = .milliseconds(50) }) { port in
            let silent = try RawPeer(port: port)
            let slow = try RawPeer(port: port)
            try await slow.send(Array("GET / HTTP/1.1\r\n".utf8))
            #expect(try await silent.rest() == [])
            #expect(try await slow.rest() == [])
        }
    }

    @Test("If there are too many connections, the oldest is closed and the new one is served")
    func crowd() async throws {
        try await withServer(limits: { $0.connections = 4 }) { port in
            let hoarders = try (0..<20).map { _ in try RawPeer(port: port) }
            #expect(try await RawPeer.http("GET", "/", port: port)?.status == 200)
            #expect(try await hoarders[0].rest() == [])
        }
    }

    @Test(
        "Connections of another user receive no response and displace none of the owner's connections",
        .enabled(if: OtherUser.isPossible, "needs root, setpriv and perl"), .timeLimit(.minutes(10)))
    func otherUser() async throws {
        let limits: (inout LoopbackServer.Limits) -> Void = {
            $0.connections = 2
            $0.isForOwnUserOnly = true
        }
        try await withServer(limits: limits) { port in
            let owners = try [RawPeer(port: port), RawPeer(port: port)]
            let request = "GET /mine HTTP/1.1\r\nHost: x\r\n\r\n"
            #expect(try await OtherUser.connect(20, to: port, sending: request) == "20 ended, 0 bytes")
            for owner in owners {
                let reply = try #require(try await owner.http(Array(request.utf8)))
                #expect(String(decoding: reply.body, as: UTF8.self) == "GET /mine ")
            }
        }
    }

    @Test("A peer that shuts down its sending side before its request is complete never receives status 200")
    func leaving() async throws {
        try await withServer { port in
            let peer = try RawPeer(port: port)
            try await peer.send(Array("GET / HT".utf8))
            peer.finishSending()
            #expect(HTTPReply(try await peer.rest())?.status != 200)
        }
    }

    @Test("A port that is in use fails with the code addressInUse")
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

    @Test("Only addresses that only this machine can reach are accepted")
    func addresses() throws {
        #expect(try LoopbackAddress("127.0.0.1:80").description == "127.0.0.1:80")
        #expect(try LoopbackAddress("[::1]:0").description == "[::1]:0")
        for text in [
            "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:+1",
            "127.0.0.1:000080",
            "0.0.0.0:80", "localhost:80", "192.0.2.1:80", "[::]:80", "::1:80", "127.0.0.1:80 ",
        ] {
            let error = #expect(throws: SocketError.self) { try LoopbackAddress(text) }
            #expect(error?.code == .notLoopback, "\(text)")
        }
    }
}

/// A process of another user that connects to a server.
private enum OtherUser {
    private static let (setpriv, perl) = ("/usr/bin/setpriv", "/usr/bin/perl")

    static var isPossible: Bool {
        geteuid() == 0
            && [setpriv, perl].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Opens connections one after another, sends `request` on each, and returns how many were ended by the server, and
    /// how many bytes arrived. All stay open until the last one has ended.
    static func connect(_ count: Int, to port: Int, sending request: String) async throws -> String {
        let script = """
            use IO::Socket::INET; $SIG{PIPE} = 'IGNORE'; my ($ended, $bytes, @all) = (0, 0);
            for (1..$ARGV[1]) {
                push @all, IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or next;
                syswrite($all[-1], $ARGV[2]);
            }
            for my $s (@all) { my $n = sysread($s, my $b, 100); $bytes += $n || 0; $ended++ if !$n }
            print "$ended ended, $bytes bytes";
            """
        let process = Process()
        process.executableURL = URL(filePath: setpriv)
        process.arguments = [
            "--reuid=65534", "--clear-groups", "--inh-caps=-all", perl, "-e", script, "\(port)", "\(count)",
            request,
        ]
        let output = Pipe()
        process.standardOutput = output
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
