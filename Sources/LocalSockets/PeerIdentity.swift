internal import CLinux
internal import Glibc

/// The process at the other end of a Unix domain socket, as reported by the kernel (`SO_PEERCRED`, unix(7)).
///
/// The user id decides which processes may connect (docs/rules.md R6.13). The process id is used to distribute the
/// connections fairly among processes, and in logs. Do not use it to decide about access: a process may connect and
/// then run another program.
package struct PeerIdentity: Sendable, Hashable {
    /// The peer's effective user id at the time of `connect` or `listen`.
    package var userID: UInt32
    /// The peer's effective group id at the time of `connect` or `listen`.
    package var groupID: UInt32
    /// The peer's process id at the time of `connect` or `listen`.
    package var processID: Int32

    /// Creates an identity from its values, for tests and for peers without a socket.
    package init(userID: UInt32, groupID: UInt32, processID: Int32) {
        self.userID = userID
        self.groupID = groupID
        self.processID = processID
    }

    /// Gets the peer of the socket `descriptor` from the kernel; nil if the kernel does not report it. Callers must
    /// treat such a peer as a process of another user.
    package init?(descriptor: CInt) {
        var (userID, groupID, processID): (UInt32, UInt32, Int32) = (0, 0, 0)
        guard unsafe clinux_peer_credentials(descriptor, &userID, &groupID, &processID) == 0 else {
            return nil
        }
        self.init(userID: userID, groupID: groupID, processID: processID)
    }

    /// Returns whether the peer runs under the effective user id of this process. Both ends of the provider's
    /// socket require it (docs/rules.md R6.13).
    package static func isOwnUser(_ peer: PeerIdentity) -> Bool {
        peer.userID == geteuid()
    }
}
