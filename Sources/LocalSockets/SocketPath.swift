/// The path of a UNIX-domain socket, as far as an address can hold one (unix(7)).
package enum SocketPath {
    /// The most bytes a path may have: `sun_path` holds 108, the NUL at its end included.
    package static let maximumLength = 107

    /// Tells whether `path` fits into an address: neither empty nor too long, and without a NUL.
    package static func isUsable(_ path: String) -> Bool {
        (1...maximumLength).contains(path.utf8.count) && !path.utf8.contains(0)
    }
}
