package import PrivateFiles
package import SecretMemory
private import Foundation
private import Glibc
internal import OpenSSL

/// The keychain's files: the database, the master key, the number of changes, and the lock for opening them.
struct KeychainFiles {
    let folder: String

    var database: String { folder + "/keychain.sqlite" }
    var masterKey: String { folder + "/master.key" }

    /// The file with the number of the database's changes, as 20 digits and a line feed.
    var generation: String { folder + "/generation" }

    /// The contents of the file `generation`.
    enum Generation: Equatable {
        /// The number of changes, or an earlier number if the last write did not reach the file.
        case changes(Int64)
        case missing
        /// The file contains no number, or is not ours.
        case unreadable
    }

    /// Reads the last recorded number of changes.
    func readGeneration() -> Generation {
        do {
            guard let bytes = try PrivateFile.open(generation)?.read(atMost: 22) else { return .missing }
            guard bytes.count == 21, bytes.last == UInt8(ascii: "\n"),
                let number = Int64(String(decoding: bytes.dropLast(), as: UTF8.self)), number >= 0
            else { return .unreadable }
            return .changes(number)
        } catch {
            return .unreadable
        }
    }

    /// Creates the file with the number 0, unless it exists.
    ///
    /// - Throws: `FileError`.
    func makeGeneration() throws(FileError) {
        guard readGeneration() == .missing else { return }
        try AtomicFile.write(Self.digits(0), to: generation)
    }

    /// Records the number of changes. Does nothing if the file is missing, because a new file would hide that another
    /// program removed it. Does not wait for the disk. After a power cut, the file may therefore contain an earlier
    /// number. Fewer restored databases are then detected, but no valid database is reported.
    ///
    /// - Throws: `FileError`.
    func noteGeneration(_ changes: Int64) throws(FileError) {
        _ = try PrivateFile.open(generation, isWritable: true)?.overwrite(
            Self.digits(changes), synchronizing: false)
    }

    private static func digits(_ number: Int64) -> [UInt8] {
        let digits = Array(String(number).utf8)
        return [UInt8](repeating: UInt8(ascii: "0"), count: max(20 - digits.count, 0)) + digits
            + [UInt8(ascii: "\n")]
    }

    /// Acquires the lock that only one process at a time holds while it opens the keychain. Returns nil without a lock
    /// if the files are read-only and the lock file does not exist: no process can change the files then.
    ///
    /// - Throws: `FileError`.
    func opening() throws(FileError) -> FileLock? {
        isReadOnly ? try existingOpening() : try FileLock.acquire(lock)
    }

    /// Acquires the opening lock if the lock file exists; otherwise nil, without creating the file.
    ///
    /// - Throws: `FileError`.
    func existingOpening() throws(FileError) -> FileLock? {
        unsafe access(lock, F_OK) == 0 ? try FileLock.acquire(lock, forReading: isReadOnly) : nil
    }

    private var lock: String { folder + "/opening.lock" }

    /// Reads the master key; nil if it does not exist.
    ///
    /// - Throws: `KeychainError.Code.invalidKeychain` for a key that does not have 32 bytes; `FileError`.
    func readMasterKey() throws -> SecretBytes? {
        guard let key = try MasterKey.read(masterKey) else { return nil }
        guard key.count == SealingKey.byteCount else {
            throw KeychainError(.invalidKeychain, "the keychain's master key is not 32 bytes long")
        }
        return key
    }

    /// Returns the size of the database in bytes; nil if it does not exist.
    ///
    /// The file is not opened: closing it would drop the locks that SQLite holds on it for the other
    /// connections of this process (sqlite.org/howtocorrupt.html, section 2.2).
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.foreignOwner`, `.exposedFile` or `.inputOutput`.
    func databaseSize() throws(FileError) -> Int? {
        try PrivateFile.sizeWithoutOpening(database)
    }

    /// Rejects additional files of the database that are not private files. SQLite waits for the writer of a pipe, and
    /// replays a log even if it belongs to another user.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.damagedFile`, `.foreignOwner`, `.exposedFile` or `.inputOutput`.
    func requirePrivateLogs() throws(FileError) {
        for suffix in ["-journal", "-wal", "-shm"] {
            _ = try PrivateFile.sizeWithoutOpening(database + suffix)
        }
    }

    /// Creates an empty file, mode 0600, which SQLite reads as an empty database. SQLite gives its additional
    /// files (`-wal`, `-shm`) the database's mode.
    ///
    /// - Throws: `FileError`: `.cannotCreate` or `.inputOutput`.
    func makeDatabase() throws(FileError) {
        let path = database
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else {
            throw .inputOutput("cannot set the mode of", path, errno: errno)
        }
        // The file's name reaches the disk before any item in it is acknowledged.
        try PrivateFolder.synchronize(folder)
    }

    /// Whether this process cannot write to the folder or the database, because of permissions or a read-only
    /// file system.
    var isReadOnly: Bool { !Self.isWritable(folder) || !Self.isWritable(database) }

    private static func isWritable(_ path: String) -> Bool {
        // Uses the effective user; access(2) uses the real one.
        unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || errno == ENOENT
    }

    /// The name under which SQLite opens the database on read-only storage.
    ///
    /// Without a write-ahead log the database is opened as immutable, so that SQLite needs no shared-memory
    /// file. With a log, SQLite can use only the existing files (sqlite.org/wal.html, "Read-Only Databases").
    var readOnlyName: String {
        var status = stat()
        let hasLog = unsafe stat(database + "-wal", &status) == 0 && status.st_size > 0
        return hasLog ? database : Self.immutableName(database)
    }

    /// The name under which SQLite opens the database at `path` without looking for a journal, a log or locks
    /// (sqlite.org/uri.html).
    static func immutableName(_ path: String) -> String {
        // SQLite would read a host's name after two slashes.
        let prefix = path.hasPrefix("/") ? "file://" : "file:./"
        let encoded = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
        return encoded.map { "\(prefix)\($0)?immutable=1" } ?? path
    }

    /// Whether the file system has no room for SQLite's shared memory, a file of 32 KiB that even reading needs.
    var isOutOfSpace: Bool {
        var status = statvfs()
        guard unsafe statvfs(folder, &status) == 0 else { return false }
        return status.f_bavail * status.f_frsize < 1 << 16 || (status.f_files > 0 && status.f_favail == 0)
    }
}

/// The 32-byte keys with which the keychain and the pasteboard encrypt their data. Each key is a file next to the
/// encrypted data, so that a copy of only the data cannot be decrypted.
package enum MasterKey {
    /// Creates a key from the system's random source.
    package static func random() -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(capacity: SealingKey.byteCount) { buffer in
            for index in buffer.indices {
                unsafe buffer[index] = generator.next()
            }
            return buffer.count
        }
    }

    /// Reads the key in the file at `path`; nil if the file does not exist.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.foreignOwner`, `.exposedFile`, `.damagedFile` or `.inputOutput`.
    package static func read(_ path: String) throws(FileError) -> SecretBytes? {
        // Reads one byte more than a key has, so that a longer file is not mistaken for a key.
        try PrivateFile.open(path)?.readSecret(atMost: SealingKey.byteCount + 1)
    }
}
