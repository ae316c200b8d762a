package import Diagnostics

/// Why a socket of this machine could not be taken, connected to or used.
package struct SocketError: Failure {
    package static let domain = FailureDomain.socket

    /// The kinds of failure: first those of a server, then those of a client.
    package enum Code: Sendable, Hashable {
        /// The socket's path is empty, holds a NUL, or has more than `SocketPath.maximumLength` bytes.
        case pathTooLong
        /// The socket's folder is a symbolic link, belongs to another user, or is open to others.
        case unsafeFolder
        /// The path names something that is no socket; it is left alone.
        case notASocket
        /// Another server has this socket.
        case alreadyRunning
        /// The address can be reached from other machines, or is none.
        case notLoopback
        /// Another program listens on the address.
        case addressInUse
        /// `run()` was called a second time.
        case alreadyRan
        /// The system refused the socket to the server; `errno` says why.
        case system

        /// No program listens at the path or address.
        case notRunning
        /// The program that listens runs under another user id, or the kernel does not say under which.
        case wrongOwner
        /// The connection ended before the answer came.
        case closed
        /// The answer did not come in time.
        case timedOut
        /// The other side sent something that the protocol forbids; the connection is closed.
        case malformedReply
        /// The content is larger than the caller permits.
        case contentTooLarge
        /// The system refused the connection to the client for a reason without a code of its own.
        case cannotConnect
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for people, without a full stop.
    package let reason: String
    /// The error number of the system call that failed (errno(3)); nil where no call did.
    package let errno: Int32?

    /// Makes an error of this kind with a sentence for people.
    package init(_ code: Code, _ reason: String, errno: Int32? = nil) {
        self.code = code
        self.reason = reason
        self.errno = errno
    }
}
