internal import PrivateFiles
package import SecretMemory
private import Foundation
private import Glibc
internal import OpenSSL

/// The files behind the keychain: the database, the key to it, and the lock of whoever opens them.
struct KeychainFiles {
    let folder: String

    var database: String { folder + "/keychain.sqlite" }
    var masterKey: String { folder + "/master.key" }

    /// Lets one process at a time open the keychain; nil where nobody can write, and so none is needed.
    ///
    /// - Throws: `DeviceError` when the lock cannot be had.
    func opening() throws(FileError) -> FileLock? {
        isReadOnly ? try existingOpening() : try FileLock.acquire(lock)
    }

    /// The same where the lock's file is there; it is not made.
    ///
    /// - Throws: `DeviceError` when the lock cannot be had.
    func existingOpening() throws(FileError) -> FileLock? {
        unsafe access(lock, F_OK) == 0 ? try FileLock.acquire(lock, forReading: isReadOnly) : nil
    }

    private var lock: String { folder + "/opening.lock" }

    /// The key; nil when there is none.
    ///
    /// - Throws: `KeychainError.Code.invalidKeychain` for one of another size; `DeviceError`.
    func readMasterKey() throws -> SecretBytes? {
        guard let key = try MasterKey.read(masterKey) else { return nil }
        guard key.count == SealingKey.byteCount else {
            throw KeychainError(.invalidKeychain, "the keychain's master key is not of 32 bytes")
        }
        return key
    }

    /// How many bytes the database's file has; nil when there is none.
    ///
    /// The file is never opened here: closing it would drop the locks that SQLite holds on it for the other
    /// connections of this process (sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Throws: `DeviceError` when it is a link, another user's, or open to others.
    func databaseSize() throws(FileError) -> Int? {
        try PrivateFile.sizeWithoutOpening(database)
    }

    /// Makes an empty file that SQLite takes for an empty database. The files it keeps beside the database
    /// (`-wal`, `-shm`) get the mode of the database.
    ///
    /// - Throws: `DeviceError` when it cannot be made.
    func makeDatabase() throws(FileError) {
        let path = database
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw .inputOutput("cannot protect", path, errno: errno) }
        // Its name reaches the disk before anything in it is acknowledged.
        try PrivateFolder.synchronize(folder)
    }

    /// Whether this process can change nothing here: the file system, or the permissions, are for reading.
    var isReadOnly: Bool { !Self.isWritable(folder) || !Self.isWritable(database) }

    private static func isWritable(_ path: String) -> Bool {
        // By the user that this process acts for, which `access` does not go by.
        unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || errno == ENOENT
    }

    /// The name by which SQLite reads the database where nothing can be written.
    ///
    /// Without a log to go through it needs no shared memory, which would be a file; with one it must get by
    /// with those that are there.
    var readOnlyName: String {
        var status = stat()
        let hasLog = unsafe stat(database + "-wal", &status) == 0 && status.st_size > 0
        let encoded = database.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
        return hasLog ? database : encoded.map { "file:\($0)?immutable=1" } ?? database
    }

    /// Whether the file system has no room for what SQLite needs to read: its shared memory is a file of 32 KiB.
    var isOutOfSpace: Bool {
        var status = statvfs()
        guard unsafe statvfs(folder, &status) == 0 else { return false }
        return status.f_bavail * status.f_frsize < 1 << 16 || (status.f_files > 0 && status.f_favail == 0)
    }
}

/// The file whose 32 bytes seal what a part of the device keeps: the keychain's records, for one.
///
/// It stands outside what it seals, so that a copy of that alone opens nothing.
package enum MasterKey {
    /// A new key from the system's random source.
    package static func random() -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(capacity: SealingKey.byteCount) { buffer in
            for index in buffer.indices {
                unsafe buffer[index] = generator.next()
            }
            return buffer.count
        }
    }

    /// The key in the file at `path`; nil when there is no file.
    ///
    /// - Throws: `DeviceError` when the file is a link, another user's, open to others, or unreadable.
    static func read(_ path: String) throws(FileError) -> SecretBytes? {
        // One byte more than there should be shows a file that is too long.
        try PrivateFile.open(path)?.readSecret(atMost: SealingKey.byteCount + 1)
    }
}
