private import Glibc

extension PeerIdentity {
    /// Asks the kernel who listens at the path of a UNIX-domain socket: connects, looks, and closes the connection
    /// without a word. Nil where nobody listens, or where the kernel does not say who does.
    ///
    /// Nothing is made. A socket that a service manager holds open names the service manager, which then starts the
    /// service.
    package static func listener(at path: String) -> PeerIdentity? {
        guard SocketPath.isUsable(path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { buffer in
            unsafe buffer.copyBytes(from: path.utf8)
        }
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return connected == 0 ? PeerIdentity(descriptor: descriptor) : nil
    }
}
