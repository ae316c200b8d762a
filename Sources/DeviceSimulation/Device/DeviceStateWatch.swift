private import Glibc
package import PrivateFiles
package import SimulatedKeychain
private import Synchronization

/// A cache of the device's status that is never stale. Each check queries inotify(7) for changes of the file, and reads
/// the file only if it has changed. Checks within a turn of a ``WatchSnapshot`` return the result of the turn's first
/// check.
///
/// The kernel queues the event before the changing process continues. If the system has no inotify instance left, every
/// check reads the file.
package final class DeviceStateWatch: Sendable {
    private struct Known: ~Copyable {
        /// The device's folder.
        var folder: WatchedFolder
        /// The last status that was read; nil if the file must be read.
        var status: DeviceStatus?
    }

    /// The turns of this watch. During a turn, all watches that share this snapshot check at most once.
    package let turn = WatchSnapshot()
    private let device: Device
    private let known: Mutex<Known>

    /// Watches the state of `device` for as long as this object exists.
    package init(_ device: Device) {
        self.device = device
        let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        known = Mutex(Known(folder: WatchedFolder(device.folder, events: events, turn: turn), status: nil))
    }

    /// Returns the device's state and the number of times it was locked or restarted.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the state's file has invalid contents, or another failure of
    ///   the file.
    package func status() throws(FileError) -> DeviceStatus {
        try known.withLock { known throws(FileError) in
            if !known.folder.hasChanged(Device.stateName), let status = known.status { return status }
            // After a failed read, the status is unknown.
            known.status = nil
            let status = try device.status()
            known.status = known.folder.isWatching ? status : nil
            return status
        }
    }
}
