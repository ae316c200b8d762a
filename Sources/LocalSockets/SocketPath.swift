package import Glibc

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

    /// Calls `body` with the address of `path` and the address's length. A path that begins with `@` is a name in the
    /// abstract namespace if `isAbstract` is true (unix(7)).
    ///
    /// The caller has checked that the path fits; longer paths are cut.
    package static func withAddress(
        of path: String, isAbstract: Bool = false, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
            if isAbstract { unsafe field[0] = 0 }
        }
        // The name in the abstract namespace has exactly the bytes that the length includes.
        let length =
            isAbstract
            ? MemoryLayout<sa_family_t>.size + min(path.utf8.count, maximumLength)
            : MemoryLayout<sockaddr_un>.size
        return unsafe withUnsafeBytes(of: &address) { bytes in
            // The pointer refers to a complete sockaddr_un, and the length is at most its size.
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                guard let start = address.baseAddress else { return EINVAL }
                return unsafe body(start, socklen_t(length))
            }
        }
    }
}
