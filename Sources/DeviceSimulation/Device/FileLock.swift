private import Glibc

/// A lock that one holder has at a time, in this process or any other; given back when this object goes, or
/// the process ends, however it ends (flock(2)).
///
/// The file stays behind: removing it would let two processes lock two files of the same name.
package final class FileLock: Sendable {
    /// What came of trying to get a lock.
    package enum Attempt: Sendable {
        /// It is ours, as long as the object lives.
        case acquired(FileLock)
        /// Somebody else has it: the process that says so in the file, where it can be read.
        case alreadyHeld(processIdentifier: Int32?)
    }

    private let descriptor: CInt

    private init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Takes the lock of the file at `path`, made if need be with mode 0600, unless somebody has it, and
    /// leaves this process's number in it.
    ///
    /// - Throws: `DeviceError` when the file cannot be made, locked or written.
    package static func attempt(_ path: String) throws(DeviceError) -> Attempt {
        let lock = FileLock(descriptor: try open(path))
        guard try lock.take(LOCK_EX, path) else { return .alreadyHeld(processIdentifier: lock.holder()) }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(lock.descriptor, 0) == 0,
            unsafe pwrite(lock.descriptor, text, text.count, 0) == text.count
        else { throw .inputOutput("cannot write", path, errno: errno) }
        return .acquired(lock)
    }

    /// Takes the lock of the file at `path`, made if need be with mode 0600, and waits until it is free.
    ///
    /// - Throws: `DeviceError` when the file cannot be made or locked.
    package static func acquire(_ path: String) throws(DeviceError) -> FileLock {
        let lock = FileLock(descriptor: try open(path))
        while flock(lock.descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .inputOutput("cannot lock", path, errno: errno) }
        }
        return lock
    }

    /// Takes a lock of the folder at `path` itself, which leaves no file in it; nil where another's lock
    /// forbids that.
    ///
    /// - Parameter isShared: whether others may have such a lock at the same time, rather than nobody.
    /// - Throws: `DeviceError` when the folder cannot be opened or locked.
    static func attempt(folder path: String, isShared: Bool) throws(DeviceError) -> FileLock? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot open", path, errno: errno) }
        let lock = FileLock(descriptor: descriptor)
        return try lock.take(isShared ? LOCK_SH : LOCK_EX, path) ? lock : nil
    }

    /// Whether the lock of that kind could be had at once.
    private func take(_ kind: CInt, _ path: String) throws(DeviceError) -> Bool {
        while flock(descriptor, kind | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw .inputOutput("cannot lock", path, errno: errno)
            }
        }
        return true
    }

    private static func open(_ path: String) throws(DeviceError) -> CInt {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == ELOOP
                ? DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
                : .cannotCreate(path, errno: errno)
        }
        return descriptor
    }

    private func holder() -> Int32? {
        var text = [UInt8](repeating: 0, count: 16)
        let count = unsafe pread(descriptor, &text, text.count, 0)
        return Int32(
            String(decoding: text.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
