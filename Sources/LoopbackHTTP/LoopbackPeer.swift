internal import CLinux
internal import Glibc
internal import NIOCore

/// The owner of the other end of a TCP connection within this machine, according to the kernel (sock_diag(7)).
///
/// A TCP socket has no `SO_PEERCRED`. This type therefore asks the kernel for the owner of the socket that has the same
/// two addresses in reverse order.
enum LoopbackPeer {
    /// Returns whether the peer's socket belongs to the effective user of this process; false if the kernel does not
    /// report an owner.
    static func isOwnUser(_ peer: SocketAddress?, connectedTo local: SocketAddress?) -> Bool {
        guard let peer, let local else { return false }
        return userID(of: peer, connectedTo: local) == geteuid()
    }

    /// Returns the owner of the socket at `peer` that is connected to `local`; nil if the kernel does not report one.
    static func userID(of peer: SocketAddress, connectedTo local: SocketAddress) -> UInt32? {
        guard peer.protocol == local.protocol, let own = octets(of: peer), let other = octets(of: local),
            let port = peer.port, let target = local.port
        else { return nil }
        var userID: UInt32 = 0
        let family = peer.protocol == .inet ? AF_INET : AF_INET6
        let reason = unsafe clinux_tcp_owner(
            family, own, UInt16(truncatingIfNeeded: port), other, UInt16(truncatingIfNeeded: target), &userID)
        return reason == 0 ? userID : nil
    }

    private static func octets(of address: SocketAddress) -> [UInt8]? {
        guard let text = address.ipAddress else { return nil }
        let isVersion4 = address.protocol == .inet
        var octets = [UInt8](repeating: 0, count: isVersion4 ? 4 : 16)
        return unsafe inet_pton(isVersion4 ? AF_INET : AF_INET6, text, &octets) == 1 ? octets : nil
    }
}
