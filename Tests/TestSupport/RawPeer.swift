package import KeyShareWire
import Dispatch
import Foundation
import Glibc
internal import KeySharing
import NIOCore

/// A consumer that speaks through a bare socket, so that it can break the rules.
///
/// Blocking calls run on a queue of their own, off the threads that the server's work needs; each gives up
/// after twenty seconds.
package final class RawPeer: Sendable {
    package struct Failed: Error {
        package let call: String
        package let errno: CInt
    }

    private let descriptor: CInt
    private let queue = DispatchQueue(label: "raw peer")

    package init(path: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // The end of this object closes it, here too: every property is set by now.
        guard result == 0 else { throw Failed(call: "connect", errno: errno) }
    }

    deinit {
        Glibc.close(descriptor)
    }

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

    package func send(_ request: ProviderRequest, id: UInt32 = 1) async throws {
        try await send(try WireSamples.bytes(request, id: id))
    }

    /// Says hello and takes the answer.
    package func greet() async throws {
        try await send(
            .hello(Hello(minimumVersion: 1, maximumVersion: 1, clientName: "raw", services: [])), id: 1)
        _ = try await frame()
    }

    /// The next reply and its request's id; nil at the end of the connection.
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

    /// Everything that still comes until the connection ends.
    package func rest() async throws -> [UInt8] {
        try await run { descriptor in
            var bytes: [UInt8] = []
            while let byte = try Self.receive(1, from: descriptor) {
                bytes += byte
            }
            return bytes
        }
    }

    /// Returns once the other end has closed, without reading anything; false if it never did.
    package func hangUp() async throws -> Bool {
        try await run { descriptor in
            var poller = pollfd(fd: descriptor, events: 0, revents: 0)
            return unsafe poll(&poller, 1, 20_000) == 1 && CInt(poller.revents) & POLLHUP != 0
        }
    }

    package func finishSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// That many bytes; nil where the connection ends first.
    private static func receive(_ count: Int, from descriptor: CInt) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let got = unsafe bytes[received...].withUnsafeMutableBytes { room in
                unsafe recv(descriptor, room.baseAddress, room.count, 0)
            }
            if got == 0 || got < 0 && errno == ECONNRESET { return nil }
            guard got > 0 else { throw Failed(call: "recv", errno: errno) }
            received += got
        }
        return bytes
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (CInt) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [self] in
                continuation.resume(with: Swift.Result { try body(descriptor) })
            }
        }
    }
}
