import CommandSupport
import Foundation
import Glibc

/// The socket that a service manager has opened for this process: sd_listen_fds(3).
enum SocketActivation {
    /// The descriptor of the socket; nil where none was passed to this process.
    ///
    /// - Throws: `CommandFailure` (64) for more than one socket.
    static func descriptor() throws(CommandFailure) -> CInt? {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"].flatMap({ pid_t($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count > 0
        else { return nil }
        guard count == 1 else {
            throw CommandFailure(
                .usage, "\(count) sockets were passed, and one is served",
                hint: "let the socket unit have one ListenStream=")
        }
        return firstDescriptor
    }

    /// The first descriptor that is passed: `SD_LISTEN_FDS_START` of sd_listen_fds(3).
    private static let firstDescriptor: CInt = 3
}
