package import PrivateFiles
private import Glibc
private import Synchronization

/// The device's status as it is at each look, at the cost of one question to the kernel while nobody changes it.
///
/// The kernel knows of a change before whoever made it returns, so that no look is too late. Where the system
/// has no observer left to give, every look reads the file.
package final class DeviceStateWatch: Sendable {
    private struct Known: ~Copyable {
        /// Nil where the system gives none, or none any more.
        var events: FolderEvents?
        /// Nil where the file must be read.
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

    /// The state that the device is in, and how often it was locked or restarted.
    ///
    /// - Throws: `DeviceError`: `.damagedFile` when the file says something else.
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
