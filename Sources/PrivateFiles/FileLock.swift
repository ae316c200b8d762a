private import Glibc

/// An advisory lock of a file or folder (flock(2)), held by one holder, or shared by several, in this process and
/// others. The lock ends with ``release()``, when the object goes, and when the process ends in any way.
///
/// The lock's file stays behind, unless the holder ends the lock by ``releaseAndRemoveFile()``.
package final class FileLock: Sendable {
    private let path: String
    private let descriptor: CInt

    private init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Ends the lock now, rather than when the object goes. Later calls do nothing.
    ///
    /// `defer { lock.release() }` keeps a lock to the end of a function; a value that is not mentioned again may be
    /// let go by the compiler right after its last use.
    package func release() {
        // LOCK_UN of a lock of ours can only fail where there is nothing to end.
        _ = flock(descriptor, LOCK_UN)
    }

    /// Removes the lock's file, unless another file has its name by now, and ends the lock.
    ///
    /// A file is only removed while its lock is held: who opened it before finds out by the name, which then leads
    /// elsewhere, and tries again. All who use such a lock must take it by ``acquireIfFree(_:)`` or
    /// ``acquire(_:forReading:)``.
    package func releaseAndRemoveFile() {
        if isNamed { unsafe unlink(path) }
        release()
    }
}

extension FileLock {
    /// Runs `body` while this process alone holds the lock of the file at `path`, which is made, mode 0600, where it
    /// is missing. Waits until the lock is free.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput` where the lock cannot be had; what
    ///   `body` throws.
    package static func withLock<Value>(
        at path: String, _ body: () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        let lock = try acquire(path)
        defer { lock.release() }
        return try body()
    }

    /// Runs `body`, which may throw any error, while this process alone holds the lock of the file at `path`, which
    /// is made, mode 0600, where it is missing. Waits until the lock is free.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput` where the lock cannot be had; what
    ///   `body` throws.
    package static func withLock<Value>(at path: String, _ body: () throws -> Value) throws -> Value {
        let lock = try acquire(path)
        defer { lock.release() }
        return try body()
    }

    /// Takes the lock of the file at `path`, which is made, mode 0600, where it is missing; nil when another holder
    /// has the lock.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput`.
    package static func acquireIfFree(_ path: String) throws(FileError) -> FileLock? {
        try acquire(path, LOCK_EX | LOCK_NB, forReading: false)
    }

    /// Takes the lock of the file at `path`, which is made, mode 0600, where it is missing. Waits until the lock is
    /// free.
    ///
    /// - Parameters:
    ///   - path: the file that is locked.
    ///   - forReading: whether the file exists and is opened for reading only, for a file system that
    ///     cannot be written; the lock excludes others all the same.
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput`.
    package static func acquire(_ path: String, forReading: Bool = false) throws(FileError) -> FileLock {
        while true {
            if let lock = try acquire(path, LOCK_EX, forReading: forReading) { return lock }
        }
    }

    /// Takes the lock of the folder at `path` itself, which leaves no file behind; nil where another holder's lock
    /// forbids that.
    ///
    /// - Parameters:
    ///   - path: the folder that is locked.
    ///   - isShared: whether others may hold the folder's lock too, provided that they share it.
    /// - Throws: `FileError.Code.inputOutput`.
    package static func acquireIfFree(folder path: String, isShared: Bool) throws(FileError) -> FileLock? {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot open", path, errno: errno) }
        let lock = FileLock(path: path, descriptor: descriptor)
        return try lock.take((isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) ? lock : nil
    }

    private static func acquire(
        _ path: String, _ operation: CInt, forReading: Bool
    ) throws(FileError) -> FileLock? {
        while true {
            let flags = forReading ? O_RDONLY : O_RDWR | O_CREAT
            let descriptor = unsafe open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw errno == ELOOP ? .symbolicLink(path) : .cannotCreate(path, errno: errno)
            }
            let lock = FileLock(path: path, descriptor: descriptor)
            guard try lock.take(operation) else { return nil }
            // The last holder may have removed the file after it was opened here. The next to come makes another
            // file, and two processes must not hold two files of one name.
            if lock.isNamed { return lock }
        }
    }

    /// Takes the lock; false when another holder's lock forbids that.
    private func take(_ operation: CInt) throws(FileError) -> Bool {
        while flock(descriptor, operation) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw .inputOutput("cannot lock", path, errno: errno)
            }
        }
        return true
    }

    /// Whether the path still names the file that is locked.
    private var isNamed: Bool {
        guard let file = FileIdentity(descriptor: descriptor), let named = FileIdentity(path: path) else {
            return false
        }
        return file.isSameFile(as: named)
    }
}
