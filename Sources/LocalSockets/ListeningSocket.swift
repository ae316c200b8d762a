internal import CLinux
internal import Glibc

/// What a server does with a listening socket that does not block, beside its event loop.
package enum ListeningSocket {
    /// What accept4(2) has given.
    package enum Outcome: Sendable {
        /// A connection's descriptor, which belongs to the caller, is closed when another program is run, and does not block.
        case connection(CInt)
        /// No connection waits, or the one that waited is gone.
        case nothing
        /// The system has no descriptor or no memory left, as errno says; a connection may wait all the same.
        case exhausted(errno: CInt)
        /// The system does not permit the accept for another reason, as errno says.
        case refused(errno: CInt)
        /// The socket is no listening socket any more, as errno says.
        case failed(errno: CInt)
    }

    /// Accepts a connection that waits at the listening socket `descriptor`, and does not wait for one.
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

    /// Tells whether the peer of the connection `descriptor` has closed its end altogether. One that has only finished
    /// sending has not (poll(2)).
    package static func hasPeerLeft(_ descriptor: CInt) -> Bool {
        var poller = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&poller, 1, 0) == 1 && CInt(poller.revents) & POLLHUP != 0
    }
}
