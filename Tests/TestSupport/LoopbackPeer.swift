import Dispatch
import Foundation
import Glibc

/// A connection to a port of this machine through a bare socket, so that it can break HTTP's rules.
///
/// Blocking calls run on a queue of their own; each gives up after two minutes.
package final class LoopbackPeer: Sendable {
    package struct Failed: Error {
        package let call: String
        package let errno: CInt
    }

    private let descriptor: CInt
    private let queue = DispatchQueue(label: "loopback peer")

    /// Connects to 127.0.0.1.
    ///
    /// - Throws: `Failed`.
    package init(port: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The end of this object closes it, here too: every property is set by now.
        guard result == 0 else { throw Failed(call: "connect", errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Sends as much as the other end takes; what it does not take is no failure.
    package func send(_ bytes: [UInt8]) async {
        await run { descriptor in
            var sent = 0
            while sent < bytes.count {
                let count = unsafe bytes[sent...].withUnsafeBytes { rest in
                    unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    /// Says that nothing more is sent.
    package func finishSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Everything that comes until the other end has nothing more to say.
    package func rest() async -> [UInt8] {
        await run { descriptor in
            var all: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = unsafe part.withUnsafeMutableBytes { room in
                    unsafe recv(descriptor, room.baseAddress, room.count, 0)
                }
                guard count > 0 else { return all }
                all += part.prefix(count)
            }
        }
    }

    private func run<Result: Sendable>(_ body: @escaping @Sendable (CInt) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            queue.async { [descriptor] in continuation.resume(returning: body(descriptor)) }
        }
    }
}

extension LoopbackPeer {
    /// What came back over HTTP.
    package struct Reply: Sendable {
        package let status: Int
        /// Header fields by their names in lower case.
        package let fields: [String: String]
        package let body: [UInt8]

        /// Reads one response; nil where there is none.
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
                    return (
                        parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces)
                    )
                }, uniquingKeysWith: { $1 })
            body = Array(bytes[end.upperBound...])
        }
    }

    /// Asks for one thing and gives what came back; nil where the other end closed without a response.
    ///
    /// - Throws: `Failed` where nobody listens.
    package static func ask(
        _ method: String, _ path: String, body: [UInt8] = [], port: Int
    ) async throws -> Reply? {
        let peer = try LoopbackPeer(port: port)
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        if !body.isEmpty { head += "Content-Length: \(body.count)\r\n" }
        await peer.send(Array((head + "\r\n").utf8) + body)
        return Reply(await peer.rest())
    }
}
