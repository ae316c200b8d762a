/// Why a server could not take its socket. Equal by code.
package struct SocketError: Error, Sendable {
    package enum Code: Sendable, Hashable {
        /// The socket's path is past the 107 bytes that an address holds, empty, or has a NUL in it.
        case pathTooLong
        /// The socket's folder is a symbolic link, another user's, or open to others.
        case unsafeFolder
        /// Something that is no socket stands in its place; it is left alone.
        case notASocket
        /// Another server has this socket.
        case alreadyRunning
        /// The address is not one that only this machine reaches.
        case notLoopback
        /// Something else listens on the address.
        case addressInUse
        /// `run()` was called a second time.
        case alreadyRan
        /// The system refused, for the reason that `errno` numbers.
        case system
    }

    package let code: Code
    /// What happened, in one sentence.
    package let reason: String
    /// The system's reason, where there is one.
    package let errno: Int32?

    package init(_ code: Code, _ reason: String, errno: Int32? = nil) {
        self.code = code
        self.reason = reason
        self.errno = errno
    }
}

extension SocketError: Hashable {
    package static func == (left: SocketError, right: SocketError) -> Bool { left.code == right.code }

    package func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension SocketError: CustomStringConvertible {
    package var description: String { reason }
}
