internal import CLinux
internal import Glibc

/// Who is at the other end of a UNIX-domain socket, by the kernel's word.
///
/// The user id is what decides. The process id serves to share out connections fairly and to read a log;
/// it proves nothing, because a process may connect and then become another program.
package struct PeerIdentity: Sendable, Hashable {
    package var userID: UInt32
    package var groupID: UInt32
    package var processID: Int32

    package init(userID: UInt32, groupID: UInt32, processID: Int32) {
        self.userID = userID
        self.groupID = groupID
        self.processID = processID
    }

    /// Asks the kernel; nil where it will not say, which counts as a stranger.
    package init?(descriptor: CInt) {
        var (userID, groupID, processID): (UInt32, UInt32, Int32) = (0, 0, 0)
        guard unsafe clinux_peer_credentials(descriptor, &userID, &groupID, &processID) == 0 else {
            return nil
        }
        self.init(userID: userID, groupID: groupID, processID: processID)
    }

    /// Whether the peer runs under this process's own effective user id: the rule of both ends.
    package static func isOwnUser(_ peer: PeerIdentity) -> Bool {
        peer.userID == geteuid()
    }
}
