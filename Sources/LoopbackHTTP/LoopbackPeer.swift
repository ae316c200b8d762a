internal import CLinux
internal import Glibc

/// The owner of the other end of a TCP connection within this machine, according to the kernel (sock_diag(7)).
enum LoopbackPeer {
    /// Returns whether the other end of `connection` belongs to the effective user of this process; false if the kernel
    /// does not report an owner.
    static func isOwnUser(_ connection: CInt) -> Bool {
        var userID: UInt32 = 0
        return unsafe clinux_tcp_peer_owner(connection, &userID) == 0 && userID == geteuid()
    }

    /// Closes a connection so that the kernel keeps nothing of it.
    ///
    /// A normal close leaves the port of the other end in TIME_WAIT. Ports on the loopback interface are shared by all
    /// users, so a client that reconnects in a loop would use up the ports of the others.
    static func reset(_ connection: CInt) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(connection)
    }
}
