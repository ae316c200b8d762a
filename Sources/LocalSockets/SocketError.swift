internal import Diagnostics

/// The reason why a socket of this machine could not be opened, connected or used.
package struct SocketError: Failure {
    /// The kinds of failure: first those of a server, then those of a client.
    package enum Code: Sendable, Hashable {
        /// The socket's path is empty, contains a NUL, or has more than `SocketPath.maximumLength` bytes.
        case pathTooLong
        /// The socket's folder is a symbolic link, belongs to another user, or is accessible to others.
        case unsafeFolder
        /// A file exists at the path and is not a socket; it is left unchanged.
        case notASocket
        /// Another server listens on the socket.
        case alreadyRunning
        /// The address is not valid, or can be reached from other machines.
        case notLoopback
        /// A URL names another machine that the user has not permitted.
        case hostNotPermitted
        /// Another program listens on the address.
        case addressInUse
        /// `run()` was called twice.
        case alreadyRan
        /// A system call of the server failed; `errno` is the reason.
        case system

        /// No program listens at the path or address.
        case notRunning
        /// The listening program runs under another user id, or the kernel does not report its user id.
        case wrongOwner
        /// The connection ended before the reply arrived.
        case closed
        /// The reply did not arrive in time.
        case timedOut
        /// The peer sent data that the protocol forbids; the connection is closed.
        case malformedReply
        /// The content is larger than the caller permits.
        case contentTooLarge
        /// A system call of the client failed for a reason that has no case here.
        case cannotConnect
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for users, without a full stop.
    package let reason: String
    /// The error number of the failed system call (errno(3)); nil if no call failed.
    package let errno: Int32?

    /// Creates an error with a sentence for users.
    package init(_ code: Code, _ reason: String, errno: Int32? = nil) {
        self.code = code
        self.reason = reason
        self.errno = errno
    }
}
