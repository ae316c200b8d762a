internal import GRDB

/// The keychain's tables in each version of this program, and a comparison of a database with them.
enum KeychainSchema {
    /// The migrations that bring a database up to date.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(first) { database in
            try database.execute(sql: KeychainRecord.schema)
        }
        migrator.registerMigration("2 more classes") { database in
            try database.execute(sql: KeychainRecord.schemaOfMoreClasses)
        }
        return migrator
    }

    private static let first = "1 items"

    /// Tells whether a database has the table of items, by its completed migrations.
    ///
    /// - Throws: `KeychainError.Code.incompatibleVersion` for a database that a newer version made.
    static func hasItems(_ database: Database) throws -> Bool {
        let migrator = migrator
        guard try !migrator.hasBeenSuperseded(database) else {
            throw KeychainError(
                .incompatibleVersion, "the keychain was made by a newer version")
        }
        return try migrator.appliedIdentifiers(database).contains(first)
    }

    /// Finds tables, indexes, triggers and views that are missing, altered or foreign, and a missing or wrong row of the
    /// table that ids are taken from. Empty when all is well.
    static func problems(_ database: Database) throws -> [KeychainProblem] {
        let migrator = migrator
        guard let last = try migrator.completedMigrations(database).last else {
            return [.structure("it has lost its tables")]
        }
        let model = try DatabaseQueue()
        try migrator.migrate(model, upTo: last)
        let expected = try model.read(objects)
        let found = try objects(database)
        var problems = Set(expected.keys).union(found.keys).sorted().compactMap { name -> KeychainProblem? in
            guard let object = found[name] else { return .structure("the \(name) is missing") }
            guard let original = expected[name] else {
                return .structure("the \(name) does not belong there")
            }
            return object == original ? nil : .structure("the \(name) was altered")
        }
        if found.keys.contains("table sequence"), found.keys.contains("table item") {
            let numbers = try Row.fetchOne(
                database,
                sql: "SELECT (SELECT last FROM sequence WHERE name = 'item'), (SELECT max(id) FROM item)")
            let last = numbers.flatMap { Int64.fromDatabaseValue($0[0]) }
            let highest = numbers.flatMap { Int64.fromDatabaseValue($0[1]) }
            if let last {
                if let highest, highest > last {
                    problems.append(.structure("an item has an id that was never given"))
                }
            } else {
                problems.append(.structure("the last id that was given is missing"))
            }
        }
        return problems
    }

    /// Gives the statement that made each object of the database, by the object's kind and name.
    private static func objects(_ database: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(database, sql: "SELECT type, name, tbl_name, sql FROM sqlite_master")
        return rows.reduce(into: [:]) { objects, row in
            let fields = (0..<4).map { String.fromDatabaseValue(row[$0]) ?? "" }
            // Line breaks in a statement make no difference.
            let words = fields[3].split(whereSeparator: \.isWhitespace).joined(separator: " ")
            objects["\(fields[0]) \(fields[1])"] = "\(fields[2]) \(words)"
        }
    }
}
