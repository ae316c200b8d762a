package import PrivateFiles
// Dispatch sources may be cancelled from any thread (dispatch_source_cancel(3)), which the type does not declare.
@unsafe @preconcurrency private import Dispatch
private import Glibc
package import SimulatedKeychain

/// Notifications between the apps of a device, like Darwin's (`CFNotificationCenterGetDarwinNotifyCenter`). A
/// notification consists only of a name, and reaches all current observers of that name, in every process.
///
/// Several notifications of one name that arrive before an observer reads them count as one. A notification does not
/// identify its sender. Observers read the state that the name refers to.
package struct Notifications: Sendable {
    private let folder: String

    /// Opens the notifications of `device`.
    ///
    /// - Throws: `FileError` if the folder cannot be created.
    package init(device: Device) throws(FileError) {
        folder = try device.notificationFolder()
    }

    /// Posts the notification `name` to all of its observers, without waiting for them.
    ///
    /// - Throws: `FileError.Code.cannotCreate` if the name is not a valid file name, or the file cannot be created.
    package func post(_ name: NotificationName) throws(FileError) {
        let path = try path(name)
        // The kernel notifies observers when a file that was open for writing is closed (IN_CLOSE_WRITE).
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        close(descriptor)
    }

    /// Starts observing `name`. A notification that is posted after this function returns is not missed, even if no
    /// task waits for it yet.
    ///
    /// - Throws: `FileError`: `.cannotCreate` if the name is not a valid file name; `.inputOutput` if the user has no
    ///   inotify instance left.
    package func observe(_ name: NotificationName) throws(FileError) -> Observations {
        _ = try path(name)
        return Observations(
            events: try FolderEvents(folder, events: UInt32(IN_CLOSE_WRITE)), name: name.rawValue)
    }

    /// The file that represents a name.
    func path(_ name: NotificationName) throws(FileError) -> String {
        let path = folder + "/" + name.rawValue
        guard PrivateFolder.isPlainName(name.rawValue) else { throw .cannotCreate(path, errno: EINVAL) }
        return path
    }
}

/// The sequence of notifications of one name, or of changes of a part of the device, for one task at a time.
///
/// It ends when the waiting task is cancelled or the device's folder is removed. Observing stops when this value and
/// its iterators are released.
package struct Observations: AsyncSequence, Sendable {
    private let stream: AsyncStream<Void>

    /// Observes the file `name` of a folder, or all of its files.
    init(events: consuming FolderEvents, name: String?) {
        // One buffered element represents all unread notifications.
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let descriptor = events.take()
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        source.setEventHandler {
            switch FolderEvents.drain(descriptor, name: name) {
            case .nothing: break
            case .happened: continuation.yield()
            case .ended: continuation.finish()
            }
        }
        source.setCancelHandler { close(descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.activate()
        self.stream = stream
    }

    /// Creates the iterator for the task that waits for notifications.
    package func makeAsyncIterator() -> AsyncStream<Void>.Iterator { stream.makeAsyncIterator() }
}
