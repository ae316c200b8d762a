private import Glibc

/// A lock that one holder has at a time, or as many as share it, in this process or any other; given back when
/// this object goes, or the process ends, however it ends (flock(2)).
///
/// A file that was made for it stays behind: removing it would let two processes lock two files of the same name.
package final class FileLock: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Takes the lock of the file at `path`, made if need be with mode 0600; nil when somebody has it.
    ///
    /// - Throws: `DeviceError` when the file cannot be made or locked.
    static func acquireIfFree(_ path: String) throws(DeviceError) -> FileLock? {
        let lock = FileLock(descriptor: try open(path))
        return try lock.take(LOCK_EX | LOCK_NB, path) ? lock : nil
    }

    /// Takes the lock of the file at `path`, made if need be with mode 0600, and waits until it is free.
    ///
    /// - Parameter forReading: whether the file is there and cannot be written, which no lock needs.
    /// - Throws: `DeviceError` when the file cannot be made or locked.
    package static func acquire(_ path: String, forReading: Bool = false) throws(DeviceError) -> FileLock {
        let lock = FileLock(descriptor: try open(path, forReading: forReading))
        _ = try lock.take(LOCK_EX, path)
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
        return try lock.take((isShared ? LOCK_SH : LOCK_EX) | LOCK_NB, path) ? lock : nil
    }

    /// Whether the lock is ours now.
    private func take(_ operation: CInt, _ path: String) throws(DeviceError) -> Bool {
        while flock(descriptor, operation) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw .inputOutput("cannot lock", path, errno: errno)
            }
        }
        return true
    }

    private static func open(_ path: String, forReading: Bool = false) throws(DeviceError) -> CInt {
        let flags = forReading ? O_RDONLY : O_RDWR | O_CREAT
        let descriptor = unsafe Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == ELOOP
                ? DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
                : .cannotCreate(path, errno: errno)
        }
        return descriptor
    }
}
