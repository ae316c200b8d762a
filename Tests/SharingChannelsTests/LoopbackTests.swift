import Diagnostics
import SecretMemory
import SharingChannels
import DeviceSimulation
import Foundation
import NIOCore
import NIOPosix
import OpenSSL
import PrivateFiles
import StandardExtensions
import Synchronization
import TestSupport
import Testing

@Suite("Loopback channel as seen by other programs", .timeLimit(.minutes(10)))
struct LoopbackTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let channel: LoopbackChannel
    private let clock = TestClock()
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        channel = LoopbackChannel(
            ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        ) {
            [clock] in clock.instant.withLock { $0 }
        }
    }

    /// A clock that advances only when a test sets it.
    private final class TestClock: Sendable {
        let instant = Mutex(ContinuousClock.now)
    }

    private func credential(_ text: String) -> Credential {
        Credential(account: "a", secret: SecretBytes(utf8: text), expires: now + 30)
    }

    /// Returns the port in the URL with which the receiver was opened.
    private func port() throws -> Int {
        let url = try #require(try device.openedURL(by: Pair.receiver))
        let text = unsafe url.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        // The secret bytes after the prefix may begin with a combining character.
        let pattern = /^http:\/\/127\.0\.0\.1:(\d+)\/credential#/.matchingSemantics(.unicodeScalar)
        let match = try #require(text.firstMatch(of: pattern))
        return try #require(Int(match.1))
    }

    /// The status line of the response to a request.
    private func status(_ request: String, host: String = "127.0.0.1") async throws -> String {
        String(try await reply(request, host: host).prefix { $0 != "\r\n" })
    }

    private func reply(_ request: String, host: String = "127.0.0.1") async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: host, port: port()) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request))
            var answer = ByteBuffer()
            for try await bytes in inbound { answer.writeImmutableBuffer(bytes) }
            return String(buffer: answer)
        }
    }

    private func get(_ path: String, _ headers: String = "", method: String = "GET") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(headers)\r\n"
    }

    @Test("A request without the correct token is rejected, and the token remains valid")
    func refusals() async throws {
        try await channel.send(credential("one"), now: now)
        let token = String(repeating: "0", count: 64)
        for (request, expected) in [
            (get("/credential"), "401 Unauthorized"),
            (get("/credential", "Authorization: Bearer \(token)\r\n"), "401 Unauthorized"),
            (get("/credential", "Authorization: Bearer \r\n"), "401 Unauthorized"),
            (get("/credential", "Authorization: Basic \(token)\r\n"), "401 Unauthorized"),
            (get("/"), "404 Not Found"), (get("/credential", method: "PUT"), "405 Method Not Allowed"),
            ("garbage\r\n\r\n", "400 Bad Request"),
        ] {
            #expect(try await status(request) == "HTTP/1.1 \(expected)", "\(request)")
        }
        #expect(try await channel.receive(by: Pair.receiver, now: now) { _ in true } == credential("one"))
        await channel.stop()
    }

    @Test(
        "Another program on the port of the URL cannot deliver a credential",
        arguments: [
            ("200 OK", .damaged), ("401 Unauthorized", .denied), ("410 Gone", .alreadyUsed),
            ("500 Internal Server Error", .failed),
        ] as [(String, SharingChannelError.Code)])
    func otherProgram(status: String, code: SharingChannelError.Code) async throws {
        let response = "HTTP/1.1 \(status)\r\nContent-Length: 1\r\n\r\nx"
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Responder(response))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let key = String(repeating: "k", count: 32)
        try device.open(
            SecretBytes(utf8: "http://127.0.0.1:\(port)/credential#\(key)"), in: Pair.receiver)
        await #expect(throws: SharingChannelError(code, "")) {
            try await channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        try await server.close()
    }

    @Test("A token is valid for one request, and a new token invalidates the earlier one")
    func once() async throws {
        func look() async throws(SharingChannelError) -> Credential? {
            try await channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        try await channel.send(credential("one"), now: now)
        let earlier = try #require(try device.openedURL(by: Pair.receiver))
        try await channel.send(credential("two"), now: now)
        #expect(try await look() == credential("two"))
        await #expect(throws: SharingChannelError(.alreadyUsed, "")) { try await look() }
        try device.open(earlier, in: Pair.receiver)
        await #expect(throws: SharingChannelError(.denied, "")) { try await look() }
        try await channel.send(credential("three"), now: now)
        #expect(try await look() == credential("three"))
        await channel.stop()
        await #expect(throws: SharingChannelError(.notRunning, "")) { try await look() }
    }

    @Test("A token expires after one minute, whether or not it was used")
    func lateness() async throws {
        for (seconds, isUsed) in [(59, false), (60, false), (60, true)] {
            try await channel.send(credential("one"), now: now)
            if isUsed { _ = try await channel.receive(by: Pair.receiver, now: now) { _ in true } }
            clock.instant.withLock { $0 += .seconds(seconds) }
            let look = { () async throws(SharingChannelError) in
                try await channel.receive(by: Pair.receiver, now: now) { _ in true }
            }
            if seconds < 60 {
                #expect(try await look() == credential("one"))
            } else {
                await #expect(throws: SharingChannelError(.denied, "")) { try await look() }
            }
        }
        await channel.stop()
    }

    @Test("Every response forbids caching")
    func caches() async throws {
        try await channel.send(credential("one"), now: now)
        let url = try #require(try device.openedURL(by: Pair.receiver))
        let token = unsafe url.withUnsafeBytes { unsafe Digest.sha256(Array($0.suffix(32))).upperHex }
        let proof = "Authorization: Bearer \(token)\r\n"
        for (request, expected) in [
            (get("/credential"), "401"), (get("/"), "404"), (get("/credential", proof), "200"),
            (get("/credential", proof), "410"), (get("/credential", proof, method: "HEAD"), "405"),
            (get("/credential", proof, method: "POST"), "405"), (get("/credential", method: "PUT"), "405"),
        ] {
            let reply = try await reply(request)
            #expect(reply.hasPrefix("HTTP/1.1 \(expected) "), "\(request)")
            #expect(reply.contains("\r\nCache-Control: no-store\r\n"), "\(request)")
        }
        await channel.stop()
    }

    @Test("The port differs each time, and the server accepts connections only on 127.0.0.1")
    func ports() async throws {
        var ports: Set<Int> = []
        for _ in 0..<4 {
            try await channel.send(credential("one"), now: now)
            ports.insert(try port())
            // The other addresses of 127.0.0.0/8 also belong to this machine, but the server does not listen on them.
            await #expect(throws: NIOConnectionError.self) { try await status("", host: "127.0.0.2") }
            await channel.stop()
        }
        #expect(ports.count > 1 && ports.allSatisfy { $0 > 1_023 })
    }

    @Test(
        "Content from another program that listens on the port is rejected, because the sender did not seal it"
    )
    func squatter() async throws {
        try await channel.send(credential("one"), now: now)
        let key = try #require(try device.openedURL(by: Pair.receiver))
        let squatter = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Forger())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(squatter.localAddress?.port)
        var url = Array("http://127.0.0.1:\(port)/credential#".utf8)
        unsafe key.withUnsafeBytes { unsafe url += $0.suffix(32) }
        try device.open(SecretBytes(url), in: Pair.receiver)
        await #expect(throws: SharingChannelError(.damaged, "")) {
            try await channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        try await squatter.close()
        await channel.stop()
    }

    /// A channel handler that replies to every request with bytes that resemble sealed content.
    private final class Forger: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" + String(repeating: "x", count: 60)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }

    @Test("A URL that was altered or belongs to no channel is reported as damaged")
    func damagedURL() async throws {
        try await channel.send(credential("one"), now: now)
        for text in ["", "http://127.0.0.1/credential#", "https://example.org:80/#x"] {
            try device.open(SecretBytes(utf8: text), in: Pair.receiver)
            await #expect(throws: SharingChannelError(.damaged, "")) {
                try await channel.receive(by: Pair.receiver, now: now) { _ in true }
            }
        }
        let path = try device.container(of: Pair.receiver) + "/opened-url"
        try AtomicFile.write([1, 2, 3], to: path)
        await #expect(throws: SharingChannelError(.damaged, "")) {
            try await channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        await channel.stop()
    }
}

/// A channel handler that sends one response to whatever arrives first.
private final class Responder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var response: String?

    init(_ response: String) { self.response = response }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let response else { return }
        self.response = nil
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
    }
}
