private import Glibc

extension PeerIdentity {
    /// Returns the identity of the process that listens at the path of a Unix domain socket. Nil if no process listens,
    /// or if the kernel does not report its identity.
    ///
    /// Connects, reads the peer's identity, and closes the connection without sending a byte. Creates no file. If a
    /// service manager listens for the service, returns the identity of the service manager, and the connection makes
    /// it start the service.
    package static func listener(at path: String) -> PeerIdentity? {
        guard SocketPath.isUsable(path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let connected = unsafe SocketPath.withAddress(of: path) { unsafe connect(descriptor, $0, $1) }
        return connected == 0 ? PeerIdentity(descriptor: descriptor) : nil
    }
}
