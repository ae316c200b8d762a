/// The rule for paths of UNIX-domain sockets: what `sockaddr_un` can hold (unix(7)).
package enum SocketPath {
    /// The most bytes that a path may have. `sun_path` holds 108 bytes, and the last of them is the NUL at its end.
    package static let maximumLength = 107

    /// Tells whether `path` fits into an address: neither empty nor too long, and without a NUL.
    package static func isUsable(_ path: String) -> Bool {
        (1...maximumLength).contains(path.utf8.count) && !path.utf8.contains(0)
    }

    /// Refuses a path that does not fit into an address.
    ///
    /// - Throws: `SocketError` `pathTooLong`.
    package static func check(_ path: String) throws(SocketError) {
        guard isUsable(path) else {
            throw SocketError(
                .pathTooLong,
                "the socket's path has \(path.utf8.count) bytes, and an address holds \(maximumLength)")
        }
    }
}
