private import Glibc
package import SimulatedKeychain
private import Synchronization

/// A cache of the change count of a keychain group. Each check asks the kernel whether a file of the keychain has
/// changed (inotify(7)), and reads the count only if one has. Checks within a turn of a ``WatchSnapshot`` return the
/// result of the turn's first check.
///
/// A process that changes the keychain writes the new number of changes to a file in the keychain's folder before it
/// continues, so the kernel has queued an event by then. If the system has no inotify instance left, every check reads
/// the count.
package final class KeychainWatch: Sendable {
    private struct Known: ~Copyable {
        /// The keychain's folder.
        var folder: WatchedFolder
        /// The last count that was read; nil if it must be read.
        var count: Int64?
    }

    private let keychain: Keychain
    private let accessGroup: String
    private let known: Mutex<Known>

    /// Watches the keychain of `device` for as long as this object exists.
    ///
    /// - Parameters:
    ///   - keychain: The keychain of an app with the access group.
    ///   - accessGroup: The group whose changes are counted.
    ///   - device: The keychain's device.
    ///   - turn: The turns of this watch. In each turn, it checks at most once.
    package init(
        _ keychain: Keychain, accessGroup: String, on device: Device, turn: WatchSnapshot = WatchSnapshot()
    ) {
        self.keychain = keychain
        self.accessGroup = accessGroup
        let events = UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        let folder = WatchedFolder(device.keychainPath, events: events, turn: turn)
        known = Mutex(Known(folder: folder, count: nil))
    }

    /// Returns the result of `Keychain.changeCount(accessGroup:)`.
    ///
    /// - Throws: `KeychainError`, like that function.
    package func changeCount() throws(KeychainError) -> Int64 {
        try known.withLock { known throws(KeychainError) in
            if !known.folder.hasChanged(nil), let count = known.count { return count }
            known.count = nil
            // The count is read after the events. A change in the meantime causes another event, and is read at the
            // next check.
            let count = try keychain.changeCount(accessGroup: accessGroup)
            known.count = known.folder.isWatching ? count : nil
            return count
        }
    }
}
