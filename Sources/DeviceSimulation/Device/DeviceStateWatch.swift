package import PrivateFiles
private import Glibc
private import Synchronization

/// A cache of the device's status that is never stale: each look asks the kernel whether the file changed (inotify(7)),
/// and reads the file only then. Looks within a ``LookTurn`` answer for the turn's first one.
///
/// The kernel queues the event before the process that made the change goes on. Where the system has no inotify
/// instance left, every look reads the file.
package final class DeviceStateWatch: Sendable {
    private struct Known: ~Copyable {
        /// The device's folder.
        var folder: WatchedFolder
        /// The status as it was read last; nil where the file must be read.
        var status: DeviceStatus?
    }

    /// Turns in which this watch looks once at most, and others that were made with it.
    package let turn = LookTurn()
    private let device: Device
    private let known: Mutex<Known>

    /// Watches the state of `device` for as long as this object lives.
    package init(_ device: Device) {
        self.device = device
        let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        known = Mutex(Known(folder: WatchedFolder(device.folder, events: events, turn: turn), status: nil))
    }

    /// Gives the device's state and the number of times it was locked or restarted.
    ///
    /// - Throws: `FileError`: `.damagedFile` when the state's file holds something else, or trouble with the file.
    package func status() throws(FileError) -> DeviceStatus {
        try known.withLock { known throws(FileError) in
            if !known.folder.hasChanged(Device.stateName), let status = known.status { return status }
            // Nothing is known where the read fails.
            known.status = nil
            let status = try device.status()
            known.status = known.folder.isWatching ? status : nil
            return status
        }
    }
}
