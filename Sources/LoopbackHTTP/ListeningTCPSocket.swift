internal import Glibc
internal import LocalSockets
internal import NIOCore

/// A listening TCP socket on the loopback interface. The creator owns the descriptor.
struct ListeningTCPSocket {
    /// The descriptor, which is close-on-exec and non-blocking.
    let descriptor: CInt
    /// The port, which the system chose if the address has port 0.
    let port: Int

    /// The queue of connections that wait to be accepted. It is as long as possible, because other users can fill it.
    static let queue = AcceptQueue(long: 4_096, short: 4_096)

    /// Listens on `address`.
    ///
    /// - Throws: `SocketError`: `addressInUse`, `system`.
    init(_ address: LoopbackAddress) throws(SocketError) {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.host.contains(":") ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0, let port = Self.bind(descriptor, to: address), listen(descriptor, 4_096) == 0
        else {
            let reason = errno
            if descriptor >= 0 { close(descriptor) }
            throw reason == EADDRINUSE
                ? SocketError(.addressInUse, "another program listens on \(address)", errno: reason)
                : SocketError(.system, "cannot listen on \(address)", errno: reason)
        }
        self.descriptor = descriptor
        self.port = port
    }

    /// Binds a socket, and returns its port; nil if a system call failed, whose reason is `errno`.
    private static func bind(_ descriptor: CInt, to address: LoopbackAddress) -> Int? {
        guard let target = try? SocketAddress(ipAddress: address.host, port: address.port) else {
            errno = EINVAL
            return nil
        }
        var isReused: CInt = 1
        // Without this option, the port cannot be used for a minute after its last connection (socket(7)).
        let isBound =
            unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size)) == 0
            && target.withSockAddr { unsafe Glibc.bind(descriptor, $0, socklen_t($1)) == 0 }
        guard isBound else { return nil }
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let port = unsafe withUnsafeMutableBytes(of: &bound) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                unsafe getsockname(descriptor, address.baseAddress, &length) == 0
            }
                // The port is at the same place in the addresses of both families (ip(7), ipv6(7)).
                ? unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) : nil
        }
        return port.map(Int.init)
    }
}
