internal import GRDB

/// The keychain's tables in each version of this program, and functions that compare a database with them.
enum KeychainSchema {
    /// The migrations that bring a database up to date.
    static var migrator: DatabaseMigrator { migrator(nil) }

    /// The migrations that bring a database up to date, and create the manifest of the existing items.
    ///
    /// - Parameter manifest: The keychain manifest; nil to create only the tables.
    static func migrator(_ manifest: KeychainManifest?) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(first) { database in
            try database.execute(sql: KeychainRecord.schema)
        }
        migrator.registerMigration("2 more classes") { database in
            try database.execute(sql: KeychainRecord.schemaOfMoreClasses)
        }
        migrator.registerMigration("3 manifest") { database in
            try database.execute(sql: KeychainManifest.schema)
            try manifest?.rebuild(in: database)
        }
        return migrator
    }

    private static let first = "1 items"

    /// Returns whether the completed migrations of a database include the table of items.
    ///
    /// - Throws: `KeychainError.Code.incompatibleVersion` for a database of a newer version.
    static func hasItems(_ database: Database) throws -> Bool {
        let migrator = migrator
        do {
            guard try !migrator.hasBeenSuperseded(database) else {
                throw KeychainError(
                    .incompatibleVersion, "the keychain was created by a newer version")
            }
            return try migrator.appliedIdentifiers(database).contains(first)
        } catch let error as RowDecodingError {
            throw KeychainError(
                .invalidKeychain, "the keychain's file is damaged: its version cannot be read", cause: error)
        }
    }

    /// Returns whether a database has the manifest table. GRDB's own check reads the whole schema.
    static func hasManifest(_ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'manifest' COLLATE NOCASE)
                """) == true
    }

    /// Rejects a database in which a view or a virtual table replaces one of our tables. Reading a view runs its
    /// author's code, which may never end. Also rejects names that are too long; see ``foreignObject(_:isWriting:)``.
    ///
    /// - Parameter isWriting: Whether the database will be written. If true, triggers are also rejected.
    /// - Throws: `KeychainError.Code.invalidKeychain`.
    static func requireTables(_ database: Database, isWriting: Bool) throws {
        if let object = try foreignObject(database, isWriting: isWriting) {
            throw KeychainError(
                .invalidKeychain, "the keychain's file is damaged: it contains the unexpected \(object)")
        }
        let longest = ForeignDatabaseLimits.nameLength
        // GRDB compares the names of the completed migrations as strings. It reports a missing table itself.
        let hasLongName = try? Bool.fetchOne(
            database,
            sql: "SELECT max(length(CAST(identifier AS BLOB))) > \(longest) FROM grdb_migrations")
        guard hasLongName != true else {
            throw KeychainError(
                .invalidKeychain, "the keychain's file is damaged: it contains an unexpected migration")
        }
    }

    /// Returns the type and name of an object that must not exist in a keychain or a backup; nil if there is none.
    ///
    /// Such an object is a view or a virtual table with the name of one of our tables, or an object with a long name or
    /// statement: comparing strings takes quadratic time for a long run of combining marks. Call this function before
    /// any function of GRDB that reads the schema.
    ///
    /// - Parameter isWriting: Whether the database will be written. If true, triggers also must not exist.
    static func foreignObject(_ database: Database, isWriting: Bool) throws -> String? {
        let (name, statement) = (ForeignDatabaseLimits.nameLength, ForeignDatabaseLimits.statementLength)
        // The names are part of the statement's text, because binding a list costs more than the statement.
        let foreign = try Row.fetchOne(
            database,
            sql: """
                SELECT type, CAST(substr(CAST(name AS BLOB), 1, \(name)) AS TEXT) FROM sqlite_master
                WHERE type = 'trigger' AND ?
                    OR length(CAST(name AS BLOB)) > \(name)
                    OR length(CAST(tbl_name AS BLOB)) > \(name)
                    OR length(CAST(sql AS BLOB)) > \(statement)
                    OR name COLLATE NOCASE IN ('item', 'change', 'sequence', 'manifest', 'grdb_migrations')
                        AND (type <> 'table' OR sql NOT LIKE 'CREATE TABLE %')
                """, arguments: [isWriting])
        guard let foreign else { return nil }
        let words = (0..<2).compactMap { String.fromDatabaseValue(foreign[$0]) }
        return words.joined(separator: " ")
    }

    /// Rejects an untrusted database with damaged pages, or with tables or indexes that differ from a keychain's.
    ///
    /// - Throws: `KeychainError.Code.invalidKeychain`.
    static func requireSound(_ database: Database) throws {
        try requireTables(database, isWriting: true)
        var problems = try problems(database)
        if problems.isEmpty {
            problems = try String.fetchAll(database, sql: "PRAGMA quick_check(1)").filter { $0 != "ok" }
                .map(KeychainProblem.structure)
        }
        guard case .structure(let words) = problems.first else { return }
        throw KeychainError(.invalidKeychain, "the keychain's file is damaged: \(words)")
    }

    /// Finds tables, indexes, triggers and views that are missing, altered or unexpected. Also finds a missing or wrong
    /// row in the table of ids. Returns an empty array for a valid database.
    static func problems(_ database: Database) throws -> [KeychainProblem] {
        let migrator = migrator
        guard let last = try migrator.completedMigrations(database).last else {
            return [.structure("its tables are missing")]
        }
        let model = try DatabaseQueue()
        try migrator.migrate(model, upTo: last)
        let found = try objects(database)
        var problems = differences(found, from: try model.read(objects)).map(KeychainProblem.structure)
        if found.keys.contains("table sequence"), found.keys.contains("table item") {
            let numbers = try Row.fetchOne(
                database,
                sql: "SELECT (SELECT last FROM sequence WHERE name = 'item'), (SELECT max(id) FROM item)")
            let last = numbers.flatMap { Int64.fromDatabaseValue($0[0]) }
            let highest = numbers.flatMap { Int64.fromDatabaseValue($0[1]) }
            if let last {
                if let highest, highest > last {
                    problems.append(.structure("an item has an id that was never assigned"))
                }
                if last < 0 || last > KeychainRecord.largestID {
                    problems.append(.structure("the last assigned id is out of range"))
                }
            } else {
                problems.append(.structure("the last assigned id is missing"))
            }
        }
        return problems
    }

    /// The differences between the objects of a database and the expected ones, as phrases; see ``objects(_:)``.
    static func differences(_ found: [String: String], from expected: [String: String]) -> [String] {
        Set(expected.keys).union(found.keys).sorted().compactMap { name in
            guard let object = found[name] else { return "the \(name) is missing" }
            guard let original = expected[name] else { return "the \(name) is unexpected" }
            return object == original ? nil : "the \(name) was altered"
        }
    }

    /// Returns the statement that created each object of the database, by the object's type and name.
    static func objects(_ database: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT \(ForeignDatabaseLimits.objects)")
        return rows.reduce(into: [:]) { objects, row in
            let fields = (0..<4).map { String.fromDatabaseValue(row[$0]) ?? "" }
            // Line breaks in a statement are insignificant.
            let words = fields[3].split(whereSeparator: \.isWhitespace).joined(separator: " ")
            objects["\(fields[0]) \(fields[1])"] = "\(fields[2]) \(words)"
        }
    }
}
