import Dispatch
import Foundation
import Glibc
internal import KeyShareProtocol
package import KeyShareWire
internal import KeySharing
import NIOCore

/// A peer that uses a plain socket, so that it can violate the rules of a protocol.
///
/// Blocking calls run on a separate queue, because the server needs the threads for tasks. A call times out
/// after two minutes.
package final class RawPeer: Sendable {
    /// A system call that failed.
    package struct Failed: Error {
        /// The name of the call, such as `connect`.
        package let call: String
        /// The error number (errno(3)).
        package let errno: CInt
    }

    private let descriptor: CInt
    private let queue = DispatchQueue(label: "raw peer")
    private static let patience = 120

    /// Connects to the Unix domain socket at `path`.
    ///
    /// - Throws: `Failed`.
    package convenience init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        try self.init(AF_UNIX, address)
    }

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Throws: `Failed`.
    package convenience init(port: Int) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try self.init(AF_INET, address)
    }

    private init<Address>(_ family: CInt, _ address: Address) throws {
        descriptor = socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: Self.patience, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        let result = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(descriptor, pointer, socklen_t(MemoryLayout<Address>.size))
            }
        }
        // Every property is set now, so after this error deinit also closes the descriptor.
        guard result == 0 else { throw Failed(call: "connect", errno: errno) }
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Sends all of `bytes`.
    ///
    /// - Throws: `Failed` if the connection does not accept all bytes.
    package func send(_ bytes: [UInt8]) async throws {
        try await run { descriptor in
            var sent = 0
            while sent < bytes.count {
                let count = unsafe bytes[sent...].withUnsafeBytes { rest in
                    unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failed(call: "send", errno: errno) }
                sent += count
            }
        }
    }

    /// Shuts down the sending side (shutdown(2)).
    package func finishSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Receives all bytes until the connection ends.
    ///
    /// - Throws: `Failed` if the connection does not end within two minutes.
    package func rest() async throws -> [UInt8] {
        try await run { descriptor in
            var bytes: [UInt8] = []
            while let part = try Self.receive(upTo: 65_536, from: descriptor) {
                bytes += part
            }
            return bytes
        }
    }

    /// Waits until the peer has closed the connection, without reading. Returns false if the peer did not close it
    /// within two minutes.
    package func hangUp() async throws -> Bool {
        try await run { descriptor in
            var poller = pollfd(fd: descriptor, events: 0, revents: 0)
            return unsafe poll(&poller, 1, CInt(Self.patience) * 1_000) == 1
                && CInt(poller.revents) & POLLHUP != 0
        }
    }

    /// Receives the next bytes, at most `count`; nil at the end of the connection.
    fileprivate static func receive(upTo count: Int, from descriptor: CInt) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = unsafe bytes.withUnsafeMutableBytes { room in
            unsafe recv(descriptor, room.baseAddress, room.count, 0)
        }
        if received == 0 || received < 0 && errno == ECONNRESET { return nil }
        guard received > 0 else { throw Failed(call: "recv", errno: errno) }
        return Array(bytes.prefix(received))
    }

    fileprivate func run<Result: Sendable>(
        _ body: @escaping @Sendable (CInt) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                continuation.resume(with: Swift.Result { try body(descriptor) })
            }
        }
    }
}

// MARK: - The protocol of key sharing

extension RawPeer {
    /// Sends a request.
    package func send(_ request: ProviderRequest, id: UInt32 = 1) async throws {
        try await send(try WireSamples.bytes(request, id: id))
    }

    /// Sends a hello and receives the welcome.
    package func greet() async throws {
        try await send(
            .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "raw", services: [])), id: 1)
        _ = try await frame()
    }

    /// Receives the next reply and the id of its request; nil at the end of the connection.
    package func frame() async throws -> (id: UInt32, reply: ProviderReply)? {
        try await run { descriptor in
            guard let head = try Self.receive(4, from: descriptor) else { return nil }
            let length = head.reduce(0) { $0 << 8 | Int($1) }
            guard let rest = try Self.receive(length, from: descriptor) else { return nil }
            var buffer = ByteBuffer(bytes: head + rest)
            guard let frame = try Frame.next(from: &buffer, limit: Wire.replyLimit) else { return nil }
            return (frame.requestID, try ProviderReply(frame))
        }
    }

    /// Receives exactly `count` bytes; nil if the connection ends earlier.
    private static func receive(_ count: Int, from descriptor: CInt) throws -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let part = try receive(upTo: count - bytes.count, from: descriptor) else { return nil }
            bytes += part
        }
        return bytes
    }
}

// MARK: - HTTP

/// An HTTP response, read without a library.
package struct HTTPReply: Sendable {
    /// The status code.
    package let status: Int
    /// The header fields, keyed by lower-case name.
    package let fields: [String: String]
    /// The bytes after the header fields.
    package let body: [UInt8]

    /// Parses one response; nil if the bytes are not an HTTP response.
    package init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: [13, 10, 13, 10]) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
        self.status = status
        fields = Dictionary(
            lines.dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { return nil }
                return (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces))
            }, uniquingKeysWith: { $1 })
        body = Array(bytes[end.upperBound...])
    }
}

extension RawPeer {
    /// Sends a request to a port of 127.0.0.1 on a new connection.
    ///
    /// - Returns: The response; nil if the connection ends without one.
    /// - Throws: `Failed` if no program listens.
    package static func http(
        _ method: String, _ path: String, body: [UInt8] = [], port: Int
    ) async throws -> HTTPReply? {
        let peer = try RawPeer(port: port)
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
        return try await peer.http(Array((head + "\r\n").utf8) + body)
    }

    /// Sends bytes as an HTTP request, which may be malformed. The server may close the connection before it has read
    /// all bytes.
    ///
    /// - Returns: The response; nil if the connection ends without one.
    package func http(_ bytes: [UInt8]) async throws -> HTTPReply? {
        try? await send(bytes)
        return HTTPReply(try await rest())
    }
}
