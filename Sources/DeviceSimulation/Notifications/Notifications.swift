// A source may be cancelled from any thread (dispatch_source_cancel(3)), which its type does not say.
@unsafe @preconcurrency private import Dispatch
private import Glibc

/// Words that pass between the apps of a device: a name and nothing else, from anybody who posts it to all
/// who observe it at that moment, in this process and others, as Darwin's notification centre does.
///
/// Notifications of one name that arrive before an observer looks are one. Nothing says who posted; whoever
/// cares looks at what the name is about.
package struct Notifications: Sendable {
    /// Posted by the provider when the identities that it publishes have changed.
    package static let identitiesChanged = "red.hound.keyshare.changed"

    private let folder: String

    /// The notifications of `device`.
    ///
    /// - Throws: `DeviceError` when their folder cannot be made.
    package init(device: Device) throws(DeviceError) {
        folder = try device.notificationFolder()
    }

    /// Tells all who observe `name`, and waits for none of them.
    ///
    /// - Throws: `DeviceError` when the name cannot be that of a file, or its file cannot be made.
    package func post(_ name: String) throws(DeviceError) {
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
    package func observe(_ name: String) throws(DeviceError) -> Observations {
        _ = try path(name)
        return Observations(events: try FolderEvents(folder), name: name)
    }

    private func path(_ name: String) throws(DeviceError) -> String {
        let path = folder + "/" + name
        guard !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= 255,
            !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0)
        else { throw .cannotCreate(path, errno: EINVAL) }
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

/// The kernel's word of what is written in a folder (inotify(7)).
private struct FolderEvents: ~Copyable {
    /// What a look at the events shows.
    enum Look {
        case nothing
        case happened
        case ended
    }

    private let descriptor: CInt

    /// Watches the folder at `path`.
    init(_ path: String) throws(DeviceError) {
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw .inputOutput("cannot observe", path, errno: errno) }
        let events = UInt32(IN_CLOSE_WRITE) | UInt32(IN_ONLYDIR)
        guard unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
            throw .inputOutput("cannot observe", path, errno: errno)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Gives the descriptor away; the taker closes it.
    consuming func take() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// Reads all events there are, and says whether one of them is about the file `name`.
    static func drain(_ descriptor: CInt, name: String) -> Look {
        var look = Look.nothing
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errno == EAGAIN && count < 0 ? look : .ended }
            var rest = buffer[..<count]
            while let event = Event(&rest) {
                if event.mask & UInt32(IN_IGNORED) != 0 { return .ended }
                // What overflowed may have been ours.
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 || event.name.elementsEqual(name.utf8) {
                    look = .happened
                }
            }
        }
    }

    /// One event, taken from the front of what was read.
    private struct Event {
        let mask: UInt32
        let name: ArraySlice<UInt8>

        init?(_ bytes: inout ArraySlice<UInt8>) {
            // struct inotify_event: watch, mask, cookie, size of the name with the zeroes behind it; name.
            let header = 16
            guard bytes.count >= header else { return nil }
            func word(_ index: Int) -> UInt32 {
                unsafe bytes.withUnsafeBytes { buffer in
                    unsafe buffer.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
                }
            }
            mask = word(1)
            let size = Int(word(3))
            guard bytes.count >= header + size else { return nil }
            name = bytes.dropFirst(header).prefix(size).prefix { $0 != 0 }
            bytes = bytes.dropFirst(header + size)
        }
    }
}
