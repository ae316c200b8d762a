internal import CLinux

/// What a server does with a listening socket beside its event loop.
package enum ListeningSocket {
    /// Accepts a connection that waits at the listening socket `descriptor`. It does not wait where that socket does not
    /// block.
    ///
    /// - Returns: The connection's descriptor, which belongs to the caller, is closed when another program is run, and
    ///   does not block; nil where no connection waits or the system refuses (accept4(2)).
    package static func accept(from descriptor: CInt) -> CInt? {
        let connection = clinux_accept(descriptor)
        return connection < 0 ? nil : connection
    }
}
