internal import SecretMemory
internal import Foundation
internal import GRDB
internal import OpenSSL

/// A row of the keychain's table: searchable attributes, and the secret, encrypted with the attributes as
/// associated data. A row with an altered id or attribute cannot be decrypted.
struct KeychainRecord {
    /// The statements that create the tables of the first version. One table contains all classes, so that a new class
    /// needs only a new index. `change` counts the committed changes of each group. `sequence` contains the last id,
    /// because ids are never reused.
    static let schema = """
        CREATE TABLE item (
            id INTEGER PRIMARY KEY,
            version INTEGER NOT NULL,
            class TEXT NOT NULL,
            accessGroup TEXT NOT NULL,
            accessible TEXT NOT NULL,
            label TEXT NOT NULL,
            service TEXT NOT NULL,
            account TEXT NOT NULL,
            applicationTag BLOB NOT NULL,
            notBefore INTEGER NOT NULL,
            certificate BLOB NOT NULL,
            sealed BLOB NOT NULL
        ) STRICT;
        CREATE INDEX itemByGroup ON item (accessGroup, class);
        CREATE UNIQUE INDEX identityKey ON item (accessGroup, label) WHERE class = 'idnt';
        CREATE UNIQUE INDEX genericPasswordKey ON item (accessGroup, service, account) WHERE class = 'genp';
        CREATE TABLE change (accessGroup TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE sequence (name TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO sequence VALUES ('item', 0);
        """

    /// The statements that create the unique indexes of the classes that the second version added.
    static let schemaOfMoreClasses = """
        CREATE UNIQUE INDEX internetPasswordKey ON item (accessGroup, service, account) WHERE class = 'inet';
        CREATE UNIQUE INDEX certificateKey ON item (accessGroup, label) WHERE class = 'cert';
        CREATE UNIQUE INDEX keyKey ON item (accessGroup, label, applicationTag) WHERE class = 'keys';
        """

    /// The version of the format of ``associatedData``, which contains it.
    static let currentVersion: Int64 = 1

    /// The columns that ``init(row:)`` reads, in that order. Columns with long values are last, so that SQLite need not
    /// read them to reach the other columns.
    static let columns =
        "id, version, class, accessGroup, accessible, label, service, account, applicationTag, notBefore, certificate"

    var id: Int64
    var version = Self.currentVersion
    var itemClass: String
    var accessGroup: String
    var accessible: String
    var label = ""
    var service = ""
    var account = ""
    var applicationTag: [UInt8] = []
    /// Whole seconds since 1970.
    var notBefore: Int64 = 0
    var certificate: [UInt8] = []

    /// The attributes, encoded as the associated data of the encrypted secret. Each field is prefixed with its length,
    /// so that different records never have equal bytes.
    var associatedData: [UInt8] {
        var data: [UInt8] = []
        data.reserveCapacity(256 + applicationTag.count + certificate.count)
        func append(_ bytes: some Collection<UInt8>) {
            data.append(bigEndian: Int64(bytes.count))
            data.append(contentsOf: bytes)
        }
        data.append(bigEndian: version)
        data.append(bigEndian: id)
        data.append(bigEndian: notBefore)
        for text in [itemClass, accessGroup, accessible, label, service, account] { append(text.utf8) }
        append(applicationTag)
        append(certificate)
        return data
    }
}

extension [UInt8] {
    /// Appends the eight bytes of `value`, the most significant first.
    mutating func append(bigEndian value: Int64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> Int64(shift)))
        }
    }
}

extension KeychainRecord {
    /// Reads a record from a row with ``columns``.
    ///
    /// - Throws: `KeychainError.Code.decode` if a value does not have the schema's type, as in a foreign
    ///   file.
    init(row: Row) throws {
        id = try Self.value(row, 0)
        version = try Self.value(row, 1)
        itemClass = try Self.value(row, 2)
        accessGroup = try Self.value(row, 3)
        accessible = try Self.value(row, 4)
        label = try Self.value(row, 5)
        service = try Self.value(row, 6)
        account = try Self.value(row, 7)
        applicationTag = [UInt8](try Self.value(row, 8) as Data)
        notBefore = try Self.value(row, 9)
        certificate = [UInt8](try Self.value(row, 10) as Data)
    }

    /// Returns the record's accessibility.
    ///
    /// - Throws: `KeychainError.Code.decode` if the column contains another string.
    func accessibility() throws(KeychainError) -> Accessibility {
        try Self.accessibility(accessible, id: id)
    }

    /// Returns the accessibility whose raw value is `accessible`, for the item `id`.
    ///
    /// - Throws: `KeychainError.Code.decode` if there is no such accessibility.
    static func accessibility(_ accessible: String, id: Int64) throws(KeychainError) -> Accessibility {
        // Comparing strings normalizes them, which takes quadratic time for a long run of combining marks.
        let known = Accessibility.allCases.first { $0.rawValue.utf8.elementsEqual(accessible.utf8) }
        guard let accessibility = known else {
            throw KeychainError(.decode, "item \(id) of the keychain has an unknown accessibility")
        }
        return accessibility
    }

    /// Returns the value at `index` of a row whose first column is the id.
    ///
    /// - Throws: `KeychainError.Code.decode` if the value is of a different type.
    static func value<Value: DatabaseValueConvertible>(_ row: Row, _ index: Int) throws -> Value {
        guard let value = Value.fromDatabaseValue(row[index]) else { throw undecodable(row) }
        return value
    }

    private static func undecodable(_ row: Row) -> KeychainError {
        let id = Int64.fromDatabaseValue(row[0]).map { "item \($0)" } ?? "an item"
        return KeychainError(.decode, "\(id) of the keychain was altered or moved, and cannot be decrypted")
    }

    /// Encrypts `secret` and inserts the row.
    ///
    /// - Returns: False if the group has an item of that class with equal unique attributes, or the id is taken.
    func insert(_ secret: SecretBytes, into database: Database, key: SealingKey) throws -> Bool {
        let sealed = try key.seal(secret, associatedData: associatedData)
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO item (\(Self.columns), sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """)
        try statement.execute(arguments: [
            id, version, itemClass, accessGroup, accessible, label, service, account, Data(applicationTag),
            notBefore, Data(certificate), Data(sealed),
        ])
        return database.changesCount == 1
    }

    /// Decrypts the secret of a row with ``columns`` and `sealed`.
    ///
    /// - Throws: `KeychainError.Code.decode` if any column was altered.
    static func secret(_ row: Row, key: SealingKey) throws -> (record: KeychainRecord, secret: SecretBytes) {
        let record = try KeychainRecord(row: row)
        guard record.version == currentVersion, let sealed = Data.fromDatabaseValue(row[11]),
            let secret = key.open([UInt8](sealed), associatedData: record.associatedData)
        else { throw undecodable(row) }
        return (record, secret)
    }

    /// The maximum id. It is far above the number of items, and leaves room below the maximum of the sequence.
    static let largestID: Int64 = 1 << 62

    /// Reserves the next `count` ids of the sequence.
    ///
    /// - Returns: The first of these ids.
    static func reserveIDs(_ count: Int, in database: Database) throws -> Int64 {
        let last = try Int64.fetchOne(
            database,
            sql:
                "UPDATE sequence SET last = last + ? WHERE name = 'item' AND last BETWEEN 0 AND ? RETURNING last",
            arguments: [count, largestID])
        guard let last else { throw KeychainError(.invalidKeychain, "the keychain has no sequence of ids") }
        return last - Int64(count) + 1
    }

    /// Adds one to the number of changes of each of `accessGroups`.
    ///
    /// - Parameter onlyAdding: Whether items were only added. Incremental readers must detect any other kind of change.
    static func countChange(
        of accessGroups: Set<String>, onlyAdding: Bool = false, in database: Database
    ) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO change (accessGroup, count) VALUES (?, 1)
                ON CONFLICT (accessGroup) DO UPDATE SET count = count + 1
                """)
        for group in accessGroups.sorted() {
            try statement.execute(arguments: [group])
        }
        guard !onlyAdding else { return }
        // An earlier version's keychain lacks this column until a command that may migrate the keychain opens it.
        guard try database.columns(in: "change").contains(where: { $0.name == "removals" }) else { return }
        let removal = try database.cachedStatement(
            sql: "UPDATE change SET removals = removals + 1 WHERE accessGroup = ?")
        for group in accessGroups.sorted() {
            try removal.execute(arguments: [group])
        }
    }

    /// The number of changes to `groups` that deleted or changed an item.
    static func removals(of groups: [String], in database: Database) throws -> Int64 {
        let statement = try database.cachedStatement(
            sql: """
                SELECT coalesce(sum(removals), 0) FROM change
                WHERE accessGroup IN (\(databaseQuestionMarks(count: groups.count)))
                """)
        return try Int64.fetchOne(statement, arguments: StatementArguments(groups)) ?? 0
    }
}
