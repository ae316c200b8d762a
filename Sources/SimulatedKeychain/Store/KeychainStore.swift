internal import PrivateFiles
internal import SecretMemory
internal import GRDB
private import Glibc
internal import OpenSSL

/// One process's connection to the keychain's database, and the key that encrypts the secrets in it.
struct KeychainStore: Sendable {
    let queue: DatabaseQueue
    private let files: KeychainFiles
    let key: SealingKey
    /// The keychain manifest; nil for a database from another source or an earlier version.
    let manifest: KeychainManifest?

    /// The maximum time in seconds that a connection waits for others. Other connections hold the database for only
    /// milliseconds, so the limit is reached only if a process hangs.
    private static let patience = 60.0

    /// The purpose for which a keychain is opened. It determines the checks and changes on opening.
    enum Purpose {
        /// Use by apps. A database of an older version is migrated.
        case use
        /// Inspection. Nothing is created, repaired or migrated.
        case inspection
        /// Reading a keychain of unknown origin, within ``ForeignDatabaseLimits``: its tables and pages are checked
        /// before any row is read.
        case foreignReading
    }

    /// Opens the keychain of `host` for use and creates it on first use. Only one process at a time does this, so that
    /// all processes agree on one key and one schema: SQLite's own waiting does not cover migrations and the change to
    /// WAL mode.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` if either the database or the key is lost; `FileError`;
    ///   `DatabaseError`.
    init(on host: some KeychainHost) throws {
        let files = KeychainFiles(folder: try host.keychainFolder())
        if !files.isReadOnly { host.reserveState() }
        let opening = try files.opening()
        defer { opening?.release() }
        guard let masterKey = try files.readMasterKey() else {
            try Self.requireUnused(files, for: .use)
            self = try Self.create(files, masterKey: MasterKey.random())
            return
        }
        try Self.requireDatabase(files)
        let queue = try Self.connect(files, for: .use)
        // All checks share one transaction, because each transaction adds a tenth to the time that a command needs to
        // start.
        try queue.read { database in
            try KeychainSchema.requireTables(database, isWriting: true)
            try Self.requireItems(database)
        }
        let manifest = try KeychainManifest(masterKey: masterKey)
        try Self.migrate(queue, files, manifest)
        self.init(queue: queue, files: files, key: try SealingKey(masterKey), manifest: manifest)
    }

    /// Opens an existing keychain of `host`, for inspection or for reading a keychain of unknown origin.
    ///
    /// - Throws: `KeychainError`: `.invalidKeychain` if the database or its key is lost, or if the tables of a keychain
    ///   of unknown origin are not those of a keychain; `.incompatibleVersion`; `FileError`; `DatabaseError`.
    /// - Returns: Nil if no keychain ever existed.
    static func existing(on host: some KeychainHost, for purpose: Purpose) throws -> KeychainStore? {
        let files = KeychainFiles(folder: host.keychainPath)
        let opening = try files.existingOpening()
        defer { opening?.release() }
        guard let masterKey = try files.readMasterKey() else {
            try requireUnused(files, for: purpose)
            return nil
        }
        try requireDatabase(files)
        let queue = try connect(files, for: purpose)
        if purpose == .foreignReading { try queue.read(KeychainSchema.requireSound) }
        let hasManifest = try queue.read { database in
            if purpose == .inspection { try KeychainSchema.requireTables(database, isWriting: false) }
            try requireItems(database)
            return try purpose == .inspection && KeychainSchema.hasManifest(database)
        }
        return KeychainStore(
            queue: queue, files: files, key: try SealingKey(masterKey),
            manifest: hasManifest ? try KeychainManifest(masterKey: masterKey) : nil)
    }

    /// Creates the keychain in `files`, which has no key, or completes one whose creation was interrupted.
    ///
    /// The key file gets its name last, after every table was created. A key file therefore proves that a keychain
    /// existed, and a process that dies earlier leaves a state that the next process can complete.
    ///
    /// The caller holds the opening lock, or no other process uses the folder.
    static func create(_ files: KeychainFiles, masterKey: SecretBytes) throws -> KeychainStore {
        if try files.databaseSize() == nil { try files.makeDatabase() }
        let queue = try connect(files, for: .use)
        let manifest = try KeychainManifest(masterKey: masterKey)
        try migrate(queue, files, manifest)
        // An earlier process may have been killed here, and have left a manifest that belongs to a lost key.
        try queue.write(manifest.rebuild)
        try AtomicFile.write(masterKey, to: files.masterKey)
        return KeychainStore(queue: queue, files: files, key: try SealingKey(masterKey), manifest: manifest)
    }

    /// Rejects a database without a key, unless no item was ever stored in it.
    private static func requireUnused(_ files: KeychainFiles, for purpose: Purpose) throws {
        guard let size = try files.databaseSize() else { return }
        // A foreign database is not opened without its key, not even to check that it is empty.
        guard purpose != .foreignReading else { throw missingMasterKey }
        guard size > 0 else { return }
        let queue = try connect(files, for: purpose)
        try queue.read { try KeychainSchema.requireTables($0, isWriting: purpose == .use) }
        guard try isUnused(queue) else { throw missingMasterKey }
    }

    private init(queue: DatabaseQueue, files: KeychainFiles, key: SealingKey, manifest: KeychainManifest?) {
        self.queue = queue
        self.files = files
        self.key = key
        self.manifest = manifest
    }

    private static let missingMasterKey = KeychainError(
        .invalidKeychain, "the keychain's master key is missing")

    private static func requireDatabase(_ files: KeychainFiles) throws {
        guard let size = try files.databaseSize() else {
            throw KeychainError(.invalidKeychain, "the keychain's database is missing")
        }
        guard size > 0 else { throw KeychainError(.invalidKeychain, "the keychain's database is empty") }
    }

    /// Rejects a database without its tables, such as one whose write-ahead log was removed.
    private static func requireItems(_ database: Database) throws {
        guard try KeychainSchema.hasItems(database) else {
            throw KeychainError(.invalidKeychain, "the tables of the keychain's database are missing")
        }
    }

    /// Returns whether no item was ever stored in the database, in which case a missing key does no harm.
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

    /// Connects to the database. If SQLite fails on a disk that cannot be written, throws an error that names the cause.
    private static func connect(_ files: KeychainFiles, for purpose: Purpose) throws -> DatabaseQueue {
        try files.requirePrivateLogs()
        let isReadOnly = files.isReadOnly
        let path = isReadOnly ? files.readOnlyName : files.database
        do {
            guard purpose != .foreignReading else {
                return try DatabaseQueue(
                    path: path, configuration: .foreign(label: "other keychain", path: files.database))
            }
            var configuration = Configuration.hardened(label: "keychain", readonly: isReadOnly)
            configuration.busyMode = .timeout(patience)
            configuration.foreignKeysEnabled = true
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            if isReadOnly { return queue }
            // GRDB's own WAL mode would set `synchronous` to NORMAL, and write at every start.
            let mode = try queue.writeWithoutTransaction { database in
                try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL")
            }
            guard mode == "wal" else {
                throw KeychainError(.io, "the keychain's file system does not support write-ahead logs")
            }
            return queue
        } catch let error as DatabaseError where error.resultCode == .SQLITE_IOERR && files.isOutOfSpace {
            throw KeychainError.noSpace(error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN && files.isReadOnly {
            // The write-ahead log must be replayed, but SQLite cannot create the shared memory for it.
            throw KeychainError(
                .readOnly,
                "the keychain's last writer was interrupted, and its log cannot be replayed on read-only storage",
                detail: .interruptedWriter, cause: error)
        }
    }

    private static func migrate(
        _ queue: DatabaseQueue, _ files: KeychainFiles, _ manifest: KeychainManifest
    ) throws {
        let migrator = KeychainSchema.migrator(manifest)
        guard try !queue.read(migrator.hasCompletedMigrations) else { return }
        guard !files.isReadOnly else {
            throw KeychainError(
                .readOnly,
                "the keychain has an older version and cannot be migrated, because its storage is read-only")
        }
        // The file is created first, because a manifest without its file indicates that the file was removed.
        try files.makeGeneration()
        try migrator.migrate(queue)
    }
}

extension Keychain {
    /// Deletes every app's items that require a passcode.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be opened or written.
    package static func removeItemsThatNeedPasscode(of host: some KeychainHost) throws(KeychainError) {
        let store: KeychainStore
        do {
            store = try KeychainStore(on: host)
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
}

extension KeychainStore {
    /// Runs `body` in a read transaction, so that all reads see the same state.
    func read<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.read(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` without a transaction. Use it for a single statement, which is consistent by itself.
    func readOnce<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try queue.unsafeRead(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` in a transaction that holds the write lock from the start, so that its reads are still
    /// valid when it writes. Returns when the changes are on disk.
    func write<Value>(_ body: (Database) throws -> Value) throws(KeychainError) -> Value {
        do {
            return try transaction(body)
        } catch {
            throw explained(error)
        }
    }

    /// Runs `body` like ``write(_:)``, and rethrows its errors.
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
        guard let value else { throw KeychainError(.internalError, "a transaction returned no result") }
        // The number is written after the commit, because a number ahead of the database would indicate a restored
        // database. If it cannot be written, the smaller number remains, which detects fewer restored databases.
        if let changes { try? files.noteGeneration(changes) }
        return value
    }

    /// The problems of the manifest, as phrases; see ``KeychainManifest``. Empty if the database has no manifest.
    func manifestProblems() throws(KeychainError) -> [String] {
        guard let manifest else { return [] }
        // The file is read before the database, because other processes change the database before they change the
        // file.
        let generation = files.readGeneration()
        return try read { try manifest.problems(in: $0, generation: generation) }
    }

    /// Translates an error of the database. SQLite distinguishes a full disk from a failing one only when it writes.
    /// For reads, this function checks the file system.
    func explained(_ error: any Error) -> KeychainError {
        let explained = KeychainError(error)
        return explained.code == .io && files.isOutOfSpace ? .noSpace(error) : explained
    }
}
