import CommandSupport
import Foundation
import Glibc

/// The socket that a service manager opened for this process: sd_listen_fds(3).
enum SocketActivation {
    /// Returns the descriptor of the socket; nil if none was passed to this process.
    ///
    /// - Throws: `CommandFailure` (64) for more than one socket.
    static func descriptor() throws(CommandFailure) -> CInt? {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"].flatMap({ pid_t($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count > 0
        else { return nil }
        guard count == 1 else {
            throw CommandFailure(
                .usage, "\(count) sockets were passed, but only one is supported",
                hint: "use one ListenStream= in the socket unit")
        }
        return firstDescriptor
    }

    /// The first passed descriptor: `SD_LISTEN_FDS_START` of sd_listen_fds(3).
    private static let firstDescriptor: CInt = 3
}
