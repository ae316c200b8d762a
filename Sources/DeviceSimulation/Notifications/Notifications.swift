package import PrivateFiles
// A source may be cancelled from any thread (dispatch_source_cancel(3)), which its type does not say.
@unsafe @preconcurrency private import Dispatch
private import Glibc

/// Words that pass between the apps of a device: a name and nothing else, from anybody who posts it to all
/// who observe it at that moment, in this process and others, as Darwin's notification centre does.
///
/// Notifications of one name that arrive before an observer looks are one. Nothing says who posted; whoever
/// cares looks at what the name is about.
package struct Notifications: Sendable {
    private let folder: String

    /// The notifications of `device`.
    ///
    /// - Throws: `DeviceError` when their folder cannot be made.
    package init(device: Device) throws(FileError) {
        folder = try device.notificationFolder()
    }

    /// Tells all who observe `name`, and waits for none of them.
    ///
    /// - Throws: `DeviceError` when the name cannot be that of a file, or its file cannot be made.
    package func post(_ name: NotificationName) throws(FileError) {
        let path = try path(name)
        // That a file was open for writing and was closed is all that observers are told by the kernel.
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        close(descriptor)
    }

    /// Observes `name` from now on: what is posted after this returns is not missed, whether or not somebody
    /// is waiting for it yet.
    ///
    /// - Throws: `DeviceError` when the name cannot be that of a file, or the system has no observer left to
    ///   give.
    package func observe(_ name: NotificationName) throws(FileError) -> Observations {
        _ = try path(name)
        return Observations(
            events: try FolderEvents(folder, events: UInt32(IN_CLOSE_WRITE)), name: name.rawValue)
    }

    /// The file that stands for a name.
    private func path(_ name: NotificationName) throws(FileError) -> String {
        let path = folder + "/" + name.rawValue
        guard PrivateFolder.isPlainName(name.rawValue) else { throw .cannotCreate(path, errno: EINVAL) }
        return path
    }
}

/// The notifications of one name, as they come; for one task at a time.
///
/// Ends when the task that waits is cancelled, or when the device's folder goes. Observing stops when this
/// value and its iterators go.
package struct Observations: AsyncSequence, Sendable {
    private let stream: AsyncStream<Void>

    fileprivate init(events: consuming FolderEvents, name: String) {
        // One that waits stands for all that came before anybody looked.
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

    /// Gives the notifications to the task that iterates.
    package func makeAsyncIterator() -> AsyncStream<Void>.Iterator { stream.makeAsyncIterator() }
}
