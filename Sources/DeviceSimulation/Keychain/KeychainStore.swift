internal import PrivateFiles
internal import SecretMemory
internal import GRDB
private import Glibc
internal import OpenSSL

/// One process's connection to the keychain's database, and the key that encrypts the secrets in it.
struct KeychainStore: Sendable {
    let queue: DatabaseQueue
    let key: SealingKey
    /// The account of the items; nil for a database that has none, as one that somebody else made or that is of an
    /// earlier version.
    let manifest: KeychainManifest?

    /// The time that a connection waits for others, in seconds. Each holds the database for milliseconds, so the time
    /// is reached only when a process hangs.
    private static let patience = 60.0

    /// Opens the keychain of `device` and makes it on first use.
    ///
    /// - Throws: `KeychainError.Code.invalidKeychain` where either the database or the key to it is lost.
    init(device: Device, newMasterKey: () -> SecretBytes) throws {
        let files = KeychainFiles(folder: try device.keychainFolder())
        if !files.isReadOnly { device.reserveState() }
        try self.init(files, newMasterKey: newMasterKey)
    }

    /// Opens the keychain of a device that somebody else may have made, for reading, within ``ForeignDatabaseLimits``.
    /// Its tables and pages are looked at before any row is.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` where the database or its key is lost, and where the database is not
    ///   as one is made; `.incompatibleVersion`; `FileError`; `DatabaseError`.
    /// - Returns: nil where there never was a keychain.
    init?(foreign device: Device) throws {
        let files = KeychainFiles(folder: device.keychainPath)
        let opening = try files.existingOpening()
        defer { opening?.release() }
        let kept = try files.readMasterKey()
        let size = try files.databaseSize()
        guard let kept else {
            guard size == nil else { throw Self.missingMasterKey }
            return nil
        }
        try Self.requireDatabase(size)
        let queue = try Self.explainingSpace(files) {
            try DatabaseQueue(
                path: files.isReadOnly ? files.readOnlyName : files.database,
                configuration: .foreign(label: "other keychain", path: files.database))
        }
        try queue.read(KeychainSchema.requireSound)
        try queue.read(Self.requireItems)
        self.init(queue: queue, key: try SealingKey(kept), manifest: nil)
    }

    /// Opens the keychain in `files` and makes it on first use, one process at a time, so that two processes agree on
    /// one key and one schema: SQLite's own waiting does not cover the change to WAL mode and migrations.
    ///
    /// The key gets its name last, when the database has every table. A key file therefore says that there was a
    /// keychain, and a process that dies before leaves nothing that the next one cannot complete.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` where either the database or the key is lost; `FileError`;
    ///   `DatabaseError`.
    init(_ files: KeychainFiles, newMasterKey: () -> SecretBytes) throws {
        let opening = try files.opening()
        defer { opening?.release() }
        let kept = try files.readMasterKey()
        let size = try files.databaseSize()
        if kept != nil { try Self.requireDatabase(size) }
        if size == nil { try files.makeDatabase() }
        queue = try Self.open(files)
        guard let kept else {
            try queue.read { try KeychainSchema.requireTables($0, isWriting: true) }
            guard try Self.isUnused(queue) else { throw Self.missingMasterKey }
            let new = newMasterKey()
            let manifest = try KeychainManifest(masterKey: new)
            try Self.migrate(queue, files, manifest)
            // A process that died here before may have left the account of a key that nobody has.
            try queue.write(manifest.makeAnew)
            try AtomicFile.write(new, to: files.masterKey)
            key = try SealingKey(new)
            self.manifest = manifest
            return
        }
        // In one transaction: each costs a tenth of the start of a command.
        try queue.read { database in
            try KeychainSchema.requireTables(database, isWriting: true)
            try Self.requireItems(database)
        }
        let manifest = try KeychainManifest(masterKey: kept)
        try Self.migrate(queue, files, manifest)
        key = try SealingKey(kept)
        self.manifest = manifest
    }

    /// Opens the keychain of `device` without making, repairing or migrating anything.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` where either the database or the key is lost; `FileError`;
    ///   `DatabaseError`.
    /// - Returns: nil where there never was a keychain.
    static func existing(device: Device) throws -> KeychainStore? {
        let files = KeychainFiles(folder: device.keychainPath)
        let opening = try files.existingOpening()
        defer { opening?.release() }
        let kept = try files.readMasterKey()
        let size = try files.databaseSize()
        guard let kept else {
            guard let size, size > 0 else { return nil }
            let queue = try open(files)
            try queue.read { try KeychainSchema.requireTables($0, isWriting: false) }
            guard try isUnused(queue) else { throw missingMasterKey }
            return nil
        }
        try requireDatabase(size)
        let queue = try open(files)
        let hasManifest = try queue.read { database in
            try KeychainSchema.requireTables(database, isWriting: false)
            try requireItems(database)
            return try KeychainSchema.hasManifest(database)
        }
        let manifest = hasManifest ? try KeychainManifest(masterKey: kept) : nil
        return KeychainStore(queue: queue, key: try SealingKey(kept), manifest: manifest)
    }

    private init(queue: DatabaseQueue, key: SealingKey, manifest: KeychainManifest?) {
        self.queue = queue
        self.key = key
        self.manifest = manifest
    }

    private static let missingMasterKey = KeychainError(
        .invalidKeychain, "the keychain's master key is missing")

    private static func requireDatabase(_ size: Int?) throws(KeychainError) {
        guard let size else { throw KeychainError(.invalidKeychain, "the keychain's database is missing") }
        guard size > 0 else { throw KeychainError(.invalidKeychain, "the keychain's database is empty") }
    }

    /// Refuses a database without its tables, such as one whose write-ahead log was removed.
    private static func requireItems(_ database: Database) throws {
        guard try KeychainSchema.hasItems(database) else {
            throw KeychainError(.invalidKeychain, "the keychain's database has lost its tables")
        }
    }

    /// Tells whether no item was ever stored in the database, so that no key can be missing.
    private static func isUnused(_ queue: DatabaseQueue) throws -> Bool {
        try queue.read { database in
            guard try database.tableExists("item"), try database.tableExists("sequence") else {
                return try Int.fetchOne(
                    database, sql: "SELECT count(*) FROM sqlite_master WHERE name = 'item'")
                    == 0
            }
            let last = try Int64.fetchOne(database, sql: "SELECT last FROM sequence")
            let items = try Int64.fetchOne(database, sql: "SELECT count(*) FROM item")
            return last == 0 && items == 0
        }
    }

    private static func open(_ files: KeychainFiles) throws -> DatabaseQueue {
        try explainingSpace(files) { try openDatabase(files) }
    }

    /// Opens a database, and tells what is behind the errors that SQLite has for a disk that cannot be written.
    private static func explainingSpace(
        _ files: KeychainFiles, _ open: () throws -> DatabaseQueue
    ) throws -> DatabaseQueue {
        do {
            return try open()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_IOERR && files.isOutOfSpace {
            throw KeychainError.noSpace(error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN && files.isReadOnly {
            // There is a log to replay, and no shared memory to do it in.
            throw KeychainError(
                .readOnly,
                "the keychain's last writer was cut off, and nothing can be written to go on from there",
                detail: .interruptedWriter, cause: error)
        }
    }

    private static func openDatabase(_ files: KeychainFiles) throws -> DatabaseQueue {
        let isReadOnly = files.isReadOnly
        var configuration = Configuration.hardened(label: "keychain", readonly: isReadOnly)
        configuration.busyMode = .timeout(patience)
        configuration.foreignKeysEnabled = true
        let queue = try DatabaseQueue(
            path: isReadOnly ? files.readOnlyName : files.database, configuration: configuration)
        if isReadOnly { return queue }
        // GRDB's own WAL mode would set `synchronous` to NORMAL, and write at every start.
        let mode = try queue.writeWithoutTransaction { database in
            try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
        }
        guard mode == "wal" else {
            throw KeychainError(.io, "the keychain's file system does not support write-ahead logs")
        }
        return queue
    }

    private static func migrate(
        _ queue: DatabaseQueue, _ files: KeychainFiles, _ manifest: KeychainManifest
    ) throws {
        let migrator = KeychainSchema.migrator(manifest)
        guard try !queue.read(migrator.hasCompletedMigrations) else { return }
        guard !files.isReadOnly else {
            throw KeychainError(.readOnly, "the keychain is of an older version, and cannot be written")
        }
        // The file comes first: an account without its file looks as if the file had been removed.
        try files.makeGeneration()
        try migrator.migrate(queue)
    }
}

extension KeychainStore {
    /// Deletes the items of all apps that are kept only while there is a passcode.
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

    /// Runs `body` in a read transaction, so that everything it reads is of one moment.
    func read<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` without a transaction; for a single statement, which is consistent by itself.
    func readOnce<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.unsafeRead(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` in a transaction that holds the write lock from the start, so that what it read still holds when it
    /// writes. Returns when the changes are on disk.
    func write<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try transaction(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` as ``write(_:)`` does, and passes on the errors that it throws.
    func transaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
        var value: Value?
        var changes: Int64?
        if !queue.configuration.readonly { try manifest?.watch(queue) }
        try queue.inTransaction(.immediate) { database in
            manifest?.begin()
            value = try body(database)
            changes = try manifest?.record(in: database)
            return .commit
        }
        guard let value else { throw KeychainError(.internalError, "a transaction gave no result") }
        // After the commit: a number that is ahead of the database would look like a database that was put back. Where
        // the number cannot be written, it stays behind, and tells less.
        if let changes { try? files.noteGeneration(changes) }
        return value
    }

    private var files: KeychainFiles { KeychainFiles(folder: PrivateFolder.parent(of: queue.path)) }

    /// What is wrong with the account of the items, in words; see ``KeychainManifest``. Empty where the database has
    /// none.
    func manifestProblems() throws(KeychainError) -> [String] {
        guard let manifest else { return [] }
        // Read first: other processes may change the database in between, and then the file.
        let generation = files.readGeneration()
        return try read { try manifest.problems(in: $0, generation: generation) }
    }

    /// Translates an error of the database. SQLite tells a full disk from a failing one only when it writes; for a
    /// read the file system is asked.
    func explained(_ error: any Error) -> KeychainError {
        let explained = KeychainError(error)
        return explained.code == .io && files.isOutOfSpace ? .noSpace(error) : explained
    }
}
