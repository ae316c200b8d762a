/// The limits of `sockaddr_un` for paths of Unix domain sockets (unix(7)).
package enum SocketPath {
    /// The maximum length of a path in bytes. `sun_path` has 108 bytes, including the NUL at its end.
    package static let maximumLength = 107

    /// Returns whether `path` fits into an address: not empty, not too long, and without a NUL.
    package static func isUsable(_ path: String) -> Bool {
        (1...maximumLength).contains(path.utf8.count) && !path.utf8.contains(0)
    }

    /// Checks that a path fits into an address.
    ///
    /// - Throws: `SocketError` `pathTooLong`.
    package static func check(_ path: String) throws(SocketError) {
        guard isUsable(path) else {
            throw SocketError(
                .pathTooLong,
                "the socket's path has \(path.utf8.count) bytes; the maximum is \(maximumLength)")
        }
    }
}
