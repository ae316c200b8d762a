internal import PrivateFiles
internal import Glibc

/// The kernel's events about files of one folder (inotify(7)).
struct FolderEvents: ~Copyable {
    /// The result of reading the events: whether an event concerned the watched file.
    enum News {
        /// No event was about the file.
        case nothing
        /// At least one event was about the file, or events were lost.
        case happened
        /// The folder was removed, and no more events arrive.
        case ended
    }

    private let descriptor: CInt

    /// Watches the folder at `path`.
    ///
    /// - Parameter events: The kinds of events, such as `IN_CLOSE_WRITE`.
    /// - Throws: `FileError.Code.inputOutput` if the folder is missing or the user has no inotify instance
    ///   left.
    init(_ path: String, events: UInt32) throws(FileError) {
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw .inputOutput("cannot observe", path, errno: errno) }
        guard unsafe inotify_add_watch(descriptor, path, events | UInt32(IN_ONLYDIR)) >= 0 else {
            throw .inputOutput("cannot observe", path, errno: errno)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Transfers the descriptor to the caller, who must close it.
    consuming func take() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// Reads all pending events, and returns whether one of them is about the file `name`, or about any file if `name`
    /// is nil.
    func drain(name: String?) -> News { Self.drain(descriptor, name: name) }

    /// Reads all pending events of a descriptor from ``take()``, and returns whether one of them is about the file
    /// `name`, or about any file if `name` is nil.
    static func drain(_ descriptor: CInt, name: String?) -> News {
        var news = News.nothing
        while true {
            let bytes = read(descriptor)
            guard let bytes else { return news }
            guard !bytes.isEmpty else { return .ended }
            var rest = bytes[...]
            while let event = Event(&rest) {
                if event.mask & UInt32(IN_IGNORED) != 0 { return .ended }
                // After an overflow, the lost events may have been about the file.
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0
                    || name.map({ event.name.elementsEqual($0.utf8) }) ?? true
                {
                    news = .happened
                }
            }
        }
    }

    /// Reads the pending events. Returns nil if no event is pending, and empty bytes if no more events can arrive.
    private static func read(_ descriptor: CInt) -> [UInt8]? {
        unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            while true {
                let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { return nil }
                return unsafe [UInt8](buffer.prefix(max(count, 0)))
            }
        }
    }

    /// One event, removed from the front of the bytes that were read.
    private struct Event {
        let mask: UInt32
        let name: ArraySlice<UInt8>

        init?(_ bytes: inout ArraySlice<UInt8>) {
            // struct inotify_event: wd, mask, cookie, len (the name's size with padding), name.
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
