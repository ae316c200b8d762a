package import LocalSockets
internal import NIOCore

/// An address that only this machine can reach, 127.0.0.1 or ::1 (RFC 6890, 2.2), with a port.
package struct LoopbackAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address, `127.0.0.1` or `::1`.
    package let host: String
    /// The port. A server with port 0 listens on a port that the system chooses.
    package let port: Int

    /// Parses `127.0.0.1:PORT` or `[::1]:PORT`.
    ///
    /// - Throws: `SocketError` `notLoopback` for any other text. Names such as `localhost` are rejected, because they
    ///   may resolve to another address later.
    package init(_ text: String) throws(SocketError) {
        let hosts = ["127.0.0.1:": "127.0.0.1", "[::1]:": "::1"]
        guard let (prefix, host) = hosts.first(where: { text.hasPrefix($0.key) }),
            case let digits = text.dropFirst(prefix.count), digits.utf8.count <= 5,
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else {
            throw SocketError(
                .notLoopback,
                "“\(text)” is not a loopback address, such as 127.0.0.1:8080 or [::1]:8080")
        }
        self.host = host
        self.port = Int(port)
    }

    private init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Returns this address with another port.
    func with(port: Int) -> LoopbackAddress { LoopbackAddress(host: host, port: port) }

    /// The address as in a URL, such as `[::1]:8080`.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
