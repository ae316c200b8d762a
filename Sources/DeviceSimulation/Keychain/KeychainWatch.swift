private import Glibc
private import Synchronization

/// The change count of a keychain group without a query for each look: each look asks the kernel whether a file of the
/// keychain changed (inotify(7)), and reads the count only then. Looks within a ``LookTurn`` answer for the turn's first
/// one.
///
/// A process that changes the keychain notes the number of its changes in a file of the keychain's folder before it goes
/// on, so that its event is queued by then. Where the system has no inotify instance left, every look reads the count.
package final class KeychainWatch: Sendable {
    private struct Known: ~Copyable {
        /// The keychain's folder.
        var folder: WatchedFolder
        /// The count as it was read last; nil where it must be read.
        var count: Int64?
    }

    private let keychain: Keychain
    private let accessGroup: String
    private let known: Mutex<Known>

    /// Watches the keychain of `device` for as long as this object lives.
    ///
    /// - Parameters:
    ///   - keychain: The keychain as an app sees it that has the access group.
    ///   - accessGroup: The group whose changes are counted.
    ///   - device: The keychain's device.
    ///   - turn: Turns in which this watch looks once at most.
    package init(_ keychain: Keychain, accessGroup: String, on device: Device, turn: LookTurn = LookTurn()) {
        self.keychain = keychain
        self.accessGroup = accessGroup
        let events = UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        let folder = WatchedFolder(device.keychainPath, events: events, turn: turn)
        known = Mutex(Known(folder: folder, count: nil))
    }

    /// Gives what `Keychain.changeCount(accessGroup:)` gives.
    ///
    /// - Throws: `KeychainError`, as that.
    package func changeCount() throws(KeychainError) -> Int64 {
        try known.withLock { known throws(KeychainError) in
            if !known.folder.hasChanged(nil), let count = known.count { return count }
            known.count = nil
            // Read after the events: a change in between has an event of its own, and is read at the next look.
            let count = try keychain.changeCount(accessGroup: accessGroup)
            known.count = known.folder.isWatching ? count : nil
            return count
        }
    }
}
