package import PrivateFiles
private import Glibc
private import Synchronization

/// A cache of the device's status that is never stale: each look asks the kernel whether the file changed (inotify(7)),
/// and reads the file only then.
///
/// The kernel queues the event before the process that made the change goes on. Where the system has no inotify
/// instance left, every look reads the file.
package final class DeviceStateWatch: Sendable {
    private struct Known: ~Copyable {
        /// The changes of files in the device's folder; nil where the system gives none, or the folder has gone.
        var events: FolderEvents?
        /// The status as it was read last; nil where the file must be read.
        var status: DeviceStatus?
    }

    private let device: Device
    private let known: Mutex<Known>

    /// Watches the state of `device` for as long as this object lives.
    package init(_ device: Device) {
        self.device = device
        let events = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        known = Mutex(Known(events: try? FolderEvents(device.folder, events: events), status: nil))
    }

    /// Gives the device's state and the number of times it was locked or restarted.
    ///
    /// - Throws: `FileError`: `.damagedFile` when the state's file holds something else, or trouble with the file.
    package func status() throws(FileError) -> DeviceStatus {
        try known.withLock { known throws(FileError) in
            switch known.events?.drain(name: Device.stateName) {
            case .nothing: if let status = known.status { return status }
            case .happened: known.status = nil
            case .ended: known.events = nil
            case nil: break
            }
            let status = try device.status()
            known.status = known.events == nil ? nil : status
            return status
        }
    }
}
