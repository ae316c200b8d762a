internal import Foundation
internal import GRDB
internal import OpenSSL
internal import SecretMemory
private import Synchronization

/// The sealed list of the items in a keychain's database. It detects rows that another program deleted or restored. A
/// row by itself only proves that it was not altered.
///
/// The manifest contains the number of items, the number of changes, and the XOR of a keyed digest of every row. Each
/// transaction updates it with the rows that it adds and removes, so its cost does not grow with the keychain. The
/// number of changes is also in a file next to the database (`KeychainFiles.generation`). If the database contains a
/// smaller number than the file, the database was restored as a whole.
struct KeychainManifest: Sendable {
    /// The statements that create the manifest's table, which has one row, and the column that counts the changes of
    /// each group that deleted or changed an item.
    static let schema = """
        CREATE TABLE manifest (
            items INTEGER NOT NULL, changes INTEGER NOT NULL, digest BLOB NOT NULL, seal BLOB NOT NULL
        ) STRICT;
        ALTER TABLE change ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;
        """

    /// The number of items, and the XOR of their digests.
    private struct Sum {
        var items: Int64 = 0
        var digest = [UInt8](repeating: 0, count: 32)
        /// Whether any row was added or removed.
        var isTouched = false

        /// Adds or removes a digest. XOR is its own inverse.
        mutating func add(_ other: [UInt8], count: Int64) {
            for index in digest.indices { digest[index] ^= other[index] }
            items &+= count
            isTouched = true
        }
    }

    /// The rows that the current transaction of one connection added and removed.
    private final class Pending: Sendable {
        let sum = Mutex(Sum())
        /// Whether the connection records its rows.
        let isWatching = Mutex(false)
        /// The key for the digests; nil before its first use.
        let digestKey = Mutex<SecretBytes?>(nil)
    }

    private let key: SealingKey
    private let masterKey: SecretBytes
    private let pending = Pending()

    /// Creates the manifest of a keychain from its master key.
    ///
    /// - Throws: `OpenSSLError`.
    init(masterKey: SecretBytes) throws(OpenSSLError) {
        key = try SealingKey(masterKey)
        self.masterKey = masterKey
    }

    /// Returns the key for the digests. It is derived from the master key, because a key should have only one purpose
    /// (SP 800-57 part 1, 5.2).
    ///
    /// It is derived on first use, so that commands that only read do not wait for OpenSSL to initialize.
    private func digestKey() throws(OpenSSLError) -> SecretBytes {
        try pending.digestKey.withLock { made throws(OpenSSLError) in
            if let made { return made }
            let new = SecretBytes(
                try HMAC.sha256(Array("keyshare keychain manifest 1 digests".utf8), key: masterKey))
            made = new
            return new
        }
    }

    /// The digest of a row. Nonce and tag are sufficient, because the tag authenticates every column.
    private func digest(id: Int64, nonce: Data, tag: Data) throws(OpenSSLError) -> [UInt8] {
        var message: [UInt8] = []
        message.append(bigEndian: id)
        message.append(bigEndian: Int64(nonce.count))
        message += nonce
        message += tag
        return try HMAC.sha256(message, key: try digestKey())
    }

    /// The columns that ``digest(id:nonce:tag:)`` needs, of the table or trigger variable `row`.
    private static func columns(of row: String) -> String {
        "\(row).id, substr(\(row).sealed, 1, 12), substr(\(row).sealed, -16)"
    }
}

// MARK: - Keeping it

extension KeychainManifest {
    /// Starts recording the rows that the connection `queue` adds and removes. `queue` must be the manifest's own
    /// connection. Call this before each transaction that writes; repeated calls have no effect.
    func watch(_ queue: DatabaseQueue) throws {
        try pending.isWatching.withLock { isWatching in
            guard !isWatching else { return }
            try note(queue)
            isWatching = true
        }
    }

    private func note(_ queue: DatabaseQueue) throws {
        let note = DatabaseFunction("keyshare_note", argumentCount: 4) { [self] values in
            let digest = try digest(
                id: Int64.fromDatabaseValue(values[0]) ?? 0,
                nonce: Data.fromDatabaseValue(values[1]) ?? Data(),
                tag: Data.fromDatabaseValue(values[2]) ?? Data())
            let count = Int64.fromDatabaseValue(values[3]) ?? 0
            pending.sum.withLock { $0.add(digest, count: count) }
            return nil
        }
        try queue.writeWithoutTransaction { database in
            database.add(function: note)
            // Temporary triggers belong only to this connection, and are not stored in a file.
            try database.execute(
                sql: """
                    CREATE TEMP TRIGGER noteInsert AFTER INSERT ON main.item
                    BEGIN SELECT keyshare_note(\(Self.columns(of: "NEW")), 1); END;
                    CREATE TEMP TRIGGER noteDelete AFTER DELETE ON main.item
                    BEGIN SELECT keyshare_note(\(Self.columns(of: "OLD")), -1); END;
                    CREATE TEMP TRIGGER noteUpdate AFTER UPDATE ON main.item
                    BEGIN
                        SELECT keyshare_note(\(Self.columns(of: "OLD")), -1);
                        SELECT keyshare_note(\(Self.columns(of: "NEW")), 1);
                    END;
                    """)
        }
    }

    /// Discards the recorded rows of an earlier transaction that was abandoned. Call this at the beginning of a
    /// transaction.
    func begin() {
        pending.sum.withLock { $0 = Sum() }
    }

    /// Updates the manifest at the end of a transaction. A missing or altered manifest is not changed, so
    /// that ``problems(in:generation:)`` still reports it.
    ///
    /// - Returns: The new number of changes; nil if no row was added or removed.
    func record(in database: Database) throws -> Int64? {
        let change = pending.sum.withLock { $0 }
        guard change.isTouched, let account = try account(in: database) else { return nil }
        var sum = account.sum
        sum.add(change.digest, count: change.items)
        try write(sum, changes: account.changes + 1, in: database)
        return account.changes + 1
    }

    /// Rebuilds the manifest from the current rows.
    func rebuild(in database: Database) throws {
        try database.execute(sql: "DELETE FROM manifest")
        try database.execute(sql: "INSERT INTO manifest VALUES (0, 0, x'', x'')")
        try write(sum(of: database), changes: 0, in: database)
    }

    private func write(_ sum: Sum, changes: Int64, in database: Database) throws {
        let seal = try key.seal(SecretBytes([]), associatedData: Self.sealed(sum, changes))
        try database.cachedStatement(sql: "UPDATE manifest SET items = ?, changes = ?, digest = ?, seal = ?")
            .execute(arguments: [sum.items, changes, Data(sum.digest), Data(seal)])
    }

    private static func sealed(_ sum: Sum, _ changes: Int64) -> [UInt8] {
        var data = Array("keyshare keychain manifest 1".utf8)
        data.append(bigEndian: sum.items)
        data.append(bigEndian: changes)
        return data + sum.digest
    }
}

// MARK: - Checking it

extension KeychainManifest {
    /// Compares the manifest with the rows of `database`, and with the number of changes in the file next to
    /// it.
    ///
    /// - Parameter generation: The contents of the file before the database was read.
    /// - Returns: The problems, as phrases; empty if there are none.
    func problems(in database: Database, generation: KeychainFiles.Generation) throws -> [String] {
        guard let account = try account(in: database) else {
            return ["its manifest is missing or was altered"]
        }
        var problems: [String] = []
        switch generation {
        case .changes(let known) where known > account.changes:
            problems.append(
                "it is at change \(account.changes), but change \(known) was recorded: an older version was restored"
            )
        case .changes: break
        case .missing: problems.append("the file that counts its changes is missing")
        case .unreadable: problems.append("the file that counts its changes cannot be read")
        }
        let found = try sum(of: database)
        if found.items != account.sum.items {
            problems.append(
                "it contains \(found.items) items instead of \(account.sum.items): another program added or removed items"
            )
        } else if found.digest != account.sum.digest {
            problems.append("its items differ from the last recorded ones: another program replaced items")
        }
        return problems
    }

    /// Reads the manifest; nil if it is missing or altered.
    private func account(in database: Database) throws -> (sum: Sum, changes: Int64)? {
        let rows = try Row.fetchAll(
            database, sql: "SELECT items, changes, digest, seal FROM manifest LIMIT 2")
        guard rows.count == 1, let row = rows.first, let items = Int64.fromDatabaseValue(row[0]),
            let changes = Int64.fromDatabaseValue(row[1]), (0..<Int64.max).contains(changes),
            let digest = Data.fromDatabaseValue(row[2]), digest.count == 32,
            let seal = Data.fromDatabaseValue(row[3]),
            case let sum = Sum(items: items, digest: [UInt8](digest)),
            key.open([UInt8](seal), associatedData: Self.sealed(sum, changes)) != nil
        else { return nil }
        return (sum, changes)
    }

    /// Counts the rows of `database`, and computes their digest.
    private func sum(of database: Database) throws -> Sum {
        var sum = Sum()
        let rows = try Row.fetchCursor(database, sql: "SELECT \(Self.columns(of: "item")) FROM item")
        while let row = try rows.next() {
            let digest = try digest(
                id: Int64.fromDatabaseValue(row[0]) ?? 0, nonce: Data.fromDatabaseValue(row[1]) ?? Data(),
                tag: Data.fromDatabaseValue(row[2]) ?? Data())
            sum.add(digest, count: 1)
        }
        return sum
    }
}
