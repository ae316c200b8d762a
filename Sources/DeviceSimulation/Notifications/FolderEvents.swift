internal import PrivateFiles
internal import Glibc

/// The kernel's word of what is written in a folder (inotify(7)).
struct FolderEvents: ~Copyable {
    /// What a look at the events shows.
    enum Look {
        case nothing
        case happened
        case ended
    }

    private let descriptor: CInt

    /// Watches the folder at `path`.
    ///
    /// - Parameter events: which of the kernel's, such as `IN_CLOSE_WRITE`.
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

    /// Gives the descriptor away; the taker closes it.
    consuming func take() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// Reads all events there are, and says whether one of them is about the file `name`.
    func drain(name: String) -> Look { Self.drain(descriptor, name: name) }

    /// The same for a descriptor that was given away.
    static func drain(_ descriptor: CInt, name: String) -> Look {
        var look = Look.nothing
        while true {
            let bytes = read(descriptor)
            guard let bytes else { return look }
            guard !bytes.isEmpty else { return .ended }
            var rest = bytes[...]
            while let event = Event(&rest) {
                if event.mask & UInt32(IN_IGNORED) != 0 { return .ended }
                // What overflowed may have been ours.
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 || event.name.elementsEqual(name.utf8) {
                    look = .happened
                }
            }
        }
    }

    /// What can be read now: nil where there is nothing, empty where there never will be.
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
