internal import GRDB
private import Glibc
internal import OpenSSL

/// The database behind the key chain: one connection of one process, and the key that seals its records.
struct KeychainStore: Sendable {
    let queue: DatabaseQueue
    let key: SealingKey

    /// How long a connection waits for the others, in seconds. Each holds the database for milliseconds, so
    /// this is only reached when one hangs.
    private static let patience = 60.0

    /// Opens the key chain of `device` and makes it on first use.
    ///
    /// One process at a time is let through here, so that the first two agree on one key and one schema:
    /// changing to WAL and migrating are what SQLite's own waiting does not cover.
    init(device: Device, newMasterKey: () -> SecretBytes) throws {
        let folder = try device.keychainFolder()
        let path = folder + "/keychain.sqlite"
        let opening = try FileLock.acquire(folder + "/opening.lock")
        key = try Self.masterKey(folder + "/master.key", database: path, new: newMasterKey)
        try Self.makePrivateFile(path)
        queue = try Self.open(path)
        try Self.migrate(queue)
        withExtendedLifetime(opening) {}
    }

    private static func masterKey(
        _ path: String, database: String, new: () -> SecretBytes
    ) throws -> SealingKey {
        if let key = try MasterKey.read(path) {
            guard key.count == SealingKey.byteCount else {
                throw KeychainError(.invalidKeychain, "the key chain's master key is not of 32 bytes")
            }
            return try SealingKey(key)
        }
        // The key is always made before the database; a new one would open nothing of it.
        guard unsafe access(database, F_OK) != 0 else {
            throw KeychainError(.invalidKeychain, "the key chain's master key is missing")
        }
        let key = new()
        try AtomicFile.write(key, to: path)
        return try SealingKey(key)
    }

    /// Makes an empty file that SQLite takes for an empty database, or looks whether the one that is there is
    /// ours alone. The files it keeps beside the database (`-wal`, `-shm`) get the mode of the database.
    ///
    /// A database that is there is never opened here: closing it would drop the locks that SQLite holds on
    /// it for the other connections of this process (sqlite.org/howtocorrupt.html, 2.2).
    private static func makePrivateFile(_ path: String) throws(DeviceError) {
        var status = stat()
        if unsafe lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT != S_IFLNK else {
                throw DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
            }
            guard status.st_uid == geteuid() else {
                throw DeviceError(.foreignOwner, path: path, "\(path) belongs to another user")
            }
            guard status.st_mode & 0o077 == 0 else {
                throw DeviceError(.exposedFile, path: path, "\(path) is open to other users")
            }
            return
        }
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o600) == 0 else { throw .inputOutput("cannot protect", path, errno: errno) }
        // Its name reaches the disk before anything in it is acknowledged.
        try Folder.synchronize(Folder.parent(of: path))
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "keychain"
        configuration.busyMode = .timeout(patience)
        configuration.foreignKeysEnabled = true
        // FULL, not NORMAL: an acknowledged write must survive a power cut in WAL mode too.
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA trusted_schema = OFF;
                    PRAGMA secure_delete = ON;
                    PRAGMA cell_size_check = ON;
                    PRAGMA temp_store = MEMORY;
                    PRAGMA synchronous = FULL;
                    """)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        // Not by GRDB's own WAL mode, which sets `synchronous` to NORMAL and writes at every start.
        let mode = try queue.writeWithoutTransaction { database in
            try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
        }
        guard mode == "wal" else {
            throw KeychainError(.io, "the key chain's file system does not support write-ahead logs")
        }
        return queue
    }

    private static func migrate(_ queue: DatabaseQueue) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 items") { database in
            try database.execute(sql: KeychainRecord.schema)
        }
        migrator.registerMigration("2 more classes") { database in
            try database.execute(sql: KeychainRecord.schemaOfMoreClasses)
        }
        let (isComplete, isSuperseded) = try queue.read { database in
            (try migrator.hasCompletedMigrations(database), try migrator.hasBeenSuperseded(database))
        }
        guard !isSuperseded else {
            throw KeychainError(
                .invalidKeychain, "the key chain was made by a newer version", hint: "use that version")
        }
        if !isComplete { try migrator.migrate(queue) }
    }
}

extension KeychainStore {
    /// Deletes, of all apps, the items that are kept only while there is a passcode.
    static func removeItemsThatNeedPasscode(of device: Device) throws(KeychainError) {
        let store: KeychainStore
        do {
            store = try KeychainStore(device: device, newMasterKey: MasterKey.random)
        } catch {
            throw KeychainError(error)
        }
        try store.write { database in
            let groups = try String.fetchSet(
                database, sql: "DELETE FROM item WHERE accessible = ? RETURNING accessGroup",
                arguments: [Accessibility.whenPasscodeSetThisDeviceOnly.rawValue])
            try KeychainRecord.countChange(of: groups, in: database)
        }
    }

    /// Reads within one transaction.
    func read<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Reads by a single statement, which is consistent without a transaction around it.
    func readOnce<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.unsafeRead(body)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Changes within one transaction that holds the database from its start, so that what was read in it
    /// still holds when it writes; acknowledged once it is on disk.
    func write<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            var value: Value?
            try queue.inTransaction(.immediate) { database in
                value = try body(database)
                return .commit
            }
            guard let value else { throw KeychainError(.internalError, "a transaction gave no result") }
            return value
        } catch {
            throw KeychainError(error)
        }
    }
}
