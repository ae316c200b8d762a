private import Glibc

/// An advisory lock of a file or folder (flock(2)), exclusive or shared. It excludes other holders in this process and
/// in other processes. The lock ends when ``release()`` is called, when this object is released, or when the process
/// ends, even by a crash.
///
/// The locked file remains, unless the holder calls ``releaseAndRemoveFile()``.
package final class FileLock: Sendable {
    private let path: String
    /// The locked file or folder, open until this object is released.
    let descriptor: CInt

    private init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Ends the lock now, before the object is released. Later calls do nothing.
    ///
    /// `defer { lock.release() }` keeps a lock to the end of a function; otherwise the compiler may release
    /// the object immediately after its last use.
    package func release() {
        // LOCK_UN can only fail if there is no lock.
        _ = flock(descriptor, LOCK_UN)
    }

    /// Removes the locked file, unless another file has its name by now, and ends the lock.
    ///
    /// The file is removed only while the lock is held. A process that opened the file earlier then detects that the
    /// name no longer belongs to that file, and tries again. All users of such a lock must acquire it with
    /// ``acquireIfFree(_:)`` or ``acquire(_:forReading:)``.
    package func releaseAndRemoveFile() {
        if isNamed { unsafe unlink(path) }
        release()
    }
}

extension FileLock {
    /// Runs `body` while this process holds the exclusive lock of the file at `path`. Creates the file, mode
    /// 0600, if it does not exist. Waits until the lock is free.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput` if the lock cannot be
    ///   acquired; the error of `body`.
    package static func withLock<Value>(
        at path: String, _ body: () throws(FileError) -> Value
    ) throws(FileError) -> Value {
        let lock = try acquire(path)
        defer { lock.release() }
        return try body()
    }

    /// Runs `body`, which may throw any error, while this process holds the exclusive lock of the file at
    /// `path`. Creates the file, mode 0600, if it does not exist. Waits until the lock is free.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput` if the lock cannot be
    ///   acquired; the error of `body`.
    package static func withLock<Value>(at path: String, _ body: () throws -> Value) throws -> Value {
        let lock = try acquire(path)
        defer { lock.release() }
        return try body()
    }

    /// Acquires the lock of the file at `path` without waiting. Returns nil if another holder has the lock. Creates the
    /// file, mode 0600, if it does not exist.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput`.
    package static func acquireIfFree(_ path: String) throws(FileError) -> FileLock? {
        try acquire(path, LOCK_EX | LOCK_NB, forReading: false)
    }

    /// Acquires the lock of the file at `path`. Creates the file, mode 0600, if it does not exist. Waits
    /// until the lock is free.
    ///
    /// - Parameters:
    ///   - path: The file to lock.
    ///   - forReading: Whether to open the file only for reading, as a read-only file system requires. The file must
    ///     then exist. The lock is exclusive in either case.
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput`.
    package static func acquire(_ path: String, forReading: Bool = false) throws(FileError) -> FileLock {
        while true {
            if let lock = try acquire(path, LOCK_EX, forReading: forReading) { return lock }
        }
    }

    /// Acquires a shared lock of the existing file at `path` without waiting. Returns nil if another holder has the
    /// exclusive lock. Opens the file only for reading.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.cannotCreate` or `.inputOutput`.
    package static func acquireSharedIfFree(_ path: String) throws(FileError) -> FileLock? {
        try acquire(path, LOCK_SH | LOCK_NB, forReading: true)
    }

    /// Acquires the lock of the folder at `path` itself, without creating a file. Returns nil if another holder's lock
    /// prevents it.
    ///
    /// - Parameters:
    ///   - path: The folder to lock.
    ///   - isShared: Whether others may also hold a shared lock of the folder.
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
            // The previous holder may have removed the file after it was opened here. Another process then creates a
            // new file with the name. This loop ensures that both processes lock the same file.
            if lock.isNamed { return lock }
        }
    }

    /// Acquires the lock. Returns false if `operation` includes `LOCK_NB` and another holder's lock prevents it.
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

    /// Whether the path still names the locked file.
    private var isNamed: Bool {
        guard let file = FileIdentity(descriptor: descriptor), let named = FileIdentity(path: path) else {
            return false
        }
        return file.isSameFile(as: named)
    }
}
