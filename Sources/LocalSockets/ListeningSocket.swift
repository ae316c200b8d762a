internal import CLinux
internal import Glibc

/// Operations on a non-blocking listening socket, for use outside an event loop.
package enum ListeningSocket {
    /// The result of accept4(2).
    package enum Outcome: Sendable {
        /// A connection. The caller owns its descriptor, which is close-on-exec and non-blocking.
        case connection(CInt)
        /// No connection is pending, or the pending connection was closed by the peer.
        case nothing
        /// The system has no descriptor or memory left (`errno`); a connection may still be pending.
        case exhausted(errno: CInt)
        /// The pending connection could not be accepted for another reason (`errno`).
        case refused(errno: CInt)
        /// The socket is no longer a listening socket (`errno`).
        case failed(errno: CInt)
    }

    /// Accepts a pending connection of the listening socket `descriptor`, without blocking.
    package static func accept(from descriptor: CInt) -> Outcome {
        let connection = clinux_accept(descriptor)
        guard connection < 0 else { return .connection(connection) }
        switch -connection {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(errno: -connection)
        case EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT: return .failed(errno: -connection)
        case EAGAIN, EWOULDBLOCK, EINTR, ECONNABORTED: return .nothing
        default: return .refused(errno: -connection)
        }
    }

    /// Returns whether the peer has closed the connection `descriptor` completely. False if the peer has only shut down
    /// its sending side (poll(2)).
    package static func hasPeerLeft(_ descriptor: CInt) -> Bool {
        var poller = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&poller, 1, 0) == 1 && CInt(poller.revents) & POLLHUP != 0
    }
}
