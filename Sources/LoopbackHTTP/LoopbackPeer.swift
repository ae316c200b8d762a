internal import CLinux
internal import Glibc
internal import NIOCore

/// The user at the other end of a TCP connection within this machine, as the kernel knows it (sock_diag(7)).
///
/// A TCP socket has no `SO_PEERCRED`. The kernel is asked for the owner of the socket whose two addresses are those of
/// this end in the other order.
enum LoopbackPeer {
    /// Whether the peer's socket belongs to the effective user of this process; false where the kernel does not say.
    static func isOwnUser(_ peer: SocketAddress?, connectedTo local: SocketAddress?) -> Bool {
        guard let peer, let local else { return false }
        return userID(of: peer, connectedTo: local) == geteuid()
    }

    /// The user whose socket is at `peer` and connected to `local`; nil where the kernel knows none.
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
