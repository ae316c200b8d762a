import LocalSockets
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import LoopbackHTTP

@Suite("The client for URLs in certificates", .timeLimit(.minutes(10)))
struct FetchClientTests {
    /// Limits with a timeout that is long enough for a busy machine.
    private static let patient: FetchClient.Limits = {
        var limits = FetchClient.Limits()
        limits.time = .seconds(600)
        return limits
    }()

    /// Runs a server while `body` runs, and calls `body` with the server's port. The server sends bytes that depend on
    /// the request line.
    private func withServer(
        _ answer: @escaping @Sendable (_ line: String, _ port: Int) -> String,
        _ body: (Int) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answerer(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result = await Result { () async throws in
            try await body(try #require(server.localAddress?.port))
        }
        try await server.close()
        try result.get()
    }

    private func reply(_ status: String, _ fields: String = "", _ content: String = "") -> String {
        "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    private func fetched(_ url: String, by client: FetchClient = FetchClient(limits: patient)) async throws
        -> String
    {
        String(decoding: try await client.fetch(url), as: UTF8.self)
    }

    @Test("The client fetches from this machine, by address and by name, with the path and the query")
    func plain() async throws {
        try await withServer({ line, _ in self.reply("200 OK", "", line) }) { port in
            for host in ["127.0.0.1", "localhost"] {
                let client = FetchClient(hosts: [], limits: Self.patient) { _, port in
                    try SocketAddress(ipAddress: "127.0.0.1", port: port)
                }
                let arrived = try await fetched("http://\(host):\(port)/a%20b?c=d#e", by: client)
                #expect(arrived == "GET /a%20b?c=d HTTP/1.1")
            }
            let posted = try await FetchClient(limits: Self.patient).fetch(
                "http://127.0.0.1:\(port)", posting: [1], of: "x/y")
            #expect(String(decoding: posted, as: UTF8.self) == "POST / HTTP/1.1")
        }
    }

    @Test(
        "The client connects to another machine only if the user permitted it by name, and accepts only http: URLs",
        arguments: [
            ("http://pki.example/", .hostNotPermitted), ("http://10.0.0.1/", .hostNotPermitted),
            ("http://[fe80::1]/", .hostNotPermitted), ("http://127.1/", .hostNotPermitted),
            ("http://2130706433/", .hostNotPermitted), ("http://0.0.0.0/", .hostNotPermitted),
            ("https://127.0.0.1/", .notLoopback), ("file:///etc/passwd", .notLoopback),
            ("ldap://127.0.0.1/", .notLoopback), ("ftp://127.0.0.1/", .notLoopback),
            ("http://user@127.0.0.1/", .notLoopback), ("http:///", .notLoopback),
            ("http://127.0.0.1:0/", .notLoopback), ("nonsense", .notLoopback), ("", .notLoopback),
            ("//127.0.0.1/", .notLoopback),
        ] as [(String, SocketError.Code)])
    func refused(url: String, code: SocketError.Code) async throws {
        let client = FetchClient(hosts: [], limits: Self.patient) { host, _ in
            Issue.record("\(host) was resolved")
            throw SocketError(.cannotConnect, "")
        }
        await #expect(throws: SocketError(code, "")) { try await client.fetch(url) }
    }

    @Test("The client does not connect if localhost resolves to another machine's address")
    func rebound() async throws {
        let client = FetchClient(hosts: [], limits: Self.patient) { _, port in
            try SocketAddress(ipAddress: "10.0.0.1", port: port)
        }
        await #expect(throws: SocketError(.notLoopback, "")) { try await client.fetch("http://localhost/") }
    }

    @Test("The client does not connect if localhost resolves to an address that is not an IP address")
    func otherFamily() async throws {
        #expect(try SocketAddress(unixDomainSocketPath: "/run/socket").reach == .special)
        let client = FetchClient(hosts: [], limits: Self.patient) { _, _ in
            try SocketAddress(unixDomainSocketPath: "/run/socket")
        }
        await #expect(throws: SocketError(.notLoopback, "")) { try await client.fetch("http://localhost/") }
    }

    @Test("A name that cannot be resolved fails with the code cannotConnect, or with the resolver's own code")
    func unresolved() async throws {
        struct UnknownName: Error {}
        for (error, code): (any Error, SocketError.Code) in [
            (UnknownName(), .cannotConnect), (SocketError(.system, "no descriptor"), .system),
        ] {
            let client = FetchClient(hosts: ["pki.example"], limits: Self.patient) { _, _ in throw error }
            await #expect(throws: SocketError(code, "")) { try await client.fetch("http://pki.example/") }
        }
    }

    @Test("The client resolves a named host once, case-insensitively, and connects to that address")
    func named() async throws {
        let count = Mutex(0)
        try await withServer({ _, _ in self.reply("200 OK", "", "here") }) { port in
            let client = FetchClient(hosts: ["PKI.example."], limits: Self.patient) { host, port in
                count.withLock { $0 += 1 }
                #expect(host == "pki.example")
                return try SocketAddress(ipAddress: "127.0.0.1", port: port)
            }
            let arrived = try await fetched("http://pki.EXAMPLE:\(port)/", by: client)
            #expect(arrived == "here")
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test("The client follows redirects on one machine up to its limit")
    func redirections() async throws {
        let loops = Mutex(0)
        try await withServer({ line, _ in
            if line.hasPrefix("GET /loop ") { loops.withLock { $0 += 1 } }
            return switch line {
            case "GET /start HTTP/1.1": self.reply("302 Found", "Location: end\r\n")
            case "GET /end HTTP/1.1": self.reply("200 OK", "", "end")
            default: self.reply("301 Moved", "Location: /loop\r\n")
            }
        }) { port in
            let arrived = try await fetched("http://127.0.0.1:\(port)/start")
            #expect(arrived == "end")
            await #expect(throws: SocketError(.malformedReply, "")) {
                try await FetchClient(limits: Self.patient).fetch("http://127.0.0.1:\(port)/loop")
            }
            // The first request does not count as a redirect.
            #expect(loops.withLock(\.self) == Self.patient.redirections + 1)
        }
    }

    @Test(
        "Redirects to files, other schemes, hosts that were not permitted and private addresses are rejected",
        arguments: [
            ("file:///etc/passwd", .notLoopback), ("https://127.0.0.1/", .notLoopback),
            ("http://other.example/", .notLoopback), ("http://169.254.169.254/", .notLoopback),
            ("http://inside.example/", .notLoopback), ("http://127.0.0.2/", .notLoopback),
        ] as [(String, SocketError.Code)])
    func privateRedirection(location: String, code: SocketError.Code) async throws {
        try await withServer({ _, _ in self.reply("302 Found", "Location: \(location)\r\n") }) { port in
            let client = FetchClient(hosts: ["outside.example", "inside.example"], limits: Self.patient) {
                host, port in
                try SocketAddress(ipAddress: host == "inside.example" ? "10.0.0.1" : "127.0.0.1", port: port)
            }
            await #expect(throws: SocketError(code, "")) {
                try await client.fetch("http://outside.example:\(port)/")
            }
        }
    }

    @Test("A fetch fails if the content is too large, if the status is not 200, and at the deadline")
    func limits() async throws {
        var limits = Self.patient
        limits.responseBytes = 10
        let client = FetchClient(limits: limits)
        limits.time = .milliseconds(50)
        let hasty = FetchClient(limits: limits)
        try await withServer({ line, _ in
            switch line {
            case "GET /large HTTP/1.1": self.reply("200 OK", "", String(repeating: "x", count: 11))
            case "GET /slow HTTP/1.1": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx"
            default: self.reply("404 Not Found")
            }
        }) { port in
            let base = "http://127.0.0.1:\(port)"
            await #expect(throws: SocketError(.contentTooLarge, "")) {
                try await client.fetch(base + "/large")
            }
            await #expect(throws: SocketError(.timedOut, "")) { try await hasty.fetch(base + "/slow") }
            await #expect(throws: SocketError(.malformedReply, "")) { try await client.fetch(base + "/none") }
        }
    }

    @Test(
        "An IP address is classified as loopback, special or public",
        arguments: [
            ("127.0.0.1", AddressReach.loopback), ("::1", .loopback), ("::ffff:127.0.0.1", .loopback),
            ("10.1.2.3", .special), ("172.16.0.0", .special), ("172.31.255.255", .special),
            ("172.15.255.255", .wide), ("192.168.0.1", .special), ("192.167.0.1", .wide),
            ("100.64.0.0", .special), ("100.127.255.255", .special), ("100.63.255.255", .wide),
            ("100.128.0.0", .wide), ("198.18.0.0", .special), ("198.19.255.255", .special),
            ("198.17.255.255", .wide), ("198.20.0.0", .wide), ("192.0.0.1", .special),
            ("192.0.2.1", .special),
            ("192.0.1.1", .wide), ("198.51.100.1", .special), ("198.51.101.1", .wide),
            ("203.0.113.1", .special), ("203.0.112.1", .wide), ("9.255.255.255", .wide), ("11.0.0.0", .wide),
            ("1.0.0.0", .wide), ("223.255.255.255", .wide), ("255.255.255.255", .special),
            ("169.253.0.1", .wide), ("128.0.0.1", .wide),
            ("169.254.169.254", .special), ("0.0.0.0", .special), ("224.0.0.1", .special), ("::", .special),
            ("fe80::1", .special), ("fd00::1", .special), ("::ffff:10.0.0.1", .special),
            ("64:ff9b::a00:1", .special), ("64:ff9b::7f00:1", .special), ("2002:7f00:1::1", .special),
            ("2001:db8::1", .special), ("2002:a00:1::1", .special), ("172.32.0.1", .wide), ("8.8.8.8", .wide),
            ("2606:4700::1", .wide),
        ])
    func reach(address: String, reach: AddressReach) throws {
        #expect(try SocketAddress(ipAddress: address, port: 80).reach == reach)
    }
}

/// A channel handler that answers the first line of each request.
private final class Answerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: @Sendable (String, Int) -> String

    init(_ answer: @escaping @Sendable (String, Int) -> String) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        guard let line = text.split(separator: "\r\n").first, text.hasPrefix("GET") || text.hasPrefix("POST")
        else { return }
        let port = context.channel.localAddress?.port ?? 0
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer(String(line), port))), promise: nil)
    }
}
