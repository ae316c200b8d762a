internal import GRDB

/// A defect of the keychain's file.
package enum KeychainProblem: Sendable, Hashable {
    /// The file's structure is damaged, or has foreign or missing parts. The text is SQLite's or names the part.
    case structure(String)
    /// An item cannot be opened, because it was altered or moved. The id is nil if it cannot be read.
    case item(id: Int64?)
}

extension Keychain {
    /// Checks the structure of the keychain's file (`PRAGMA quick_check`), and searches for tables, indexes
    /// and triggers that this program did not create.
    ///
    /// - Throws: `KeychainError` if the file cannot be read at all.
    /// - Returns: The defects; empty if there is none.
    package func quickCheck() throws(KeychainError) -> [KeychainProblem] {
        try structure("quick_check")
    }

    private func structure(_ pragma: String) throws(KeychainError) -> [KeychainProblem] {
        try store.read { database in
            try String.fetchAll(database, sql: "PRAGMA \(pragma)")
                .filter { $0 != "ok" }.map(KeychainProblem.structure) + KeychainSchema.problems(database)
        }
    }

    /// Checks the structure (`PRAGMA integrity_check`, which compares each index with its table), and
    /// decrypts every item of the device, including those of other apps, to detect alterations. Continues
    /// after a defect. Returns no secrets.
    ///
    /// The keychain manifest reveals items that another program deleted or restored. The generation file, which
    /// contains the number of changes, reveals a database that was restored as a whole.
    ///
    /// - Throws: `KeychainError` if the file cannot be read at all.
    /// - Returns: The defects; empty if there is none.
    package func verifyIntegrity() throws(KeychainError) -> [KeychainProblem] {
        let structure =
            try structure("integrity_check") + store.manifestProblems().map(KeychainProblem.structure)
        return try store.read { database in
            var problems = structure
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(KeychainRecord.columns), sealed FROM item ORDER BY id")
            while let row = try rows.next() {
                do {
                    _ = try KeychainRecord.secret(row, key: store.key)
                } catch let error as KeychainError where error.code == .decode {
                    problems.append(.item(id: Int64.fromDatabaseValue(row[0])))
                }
            }
            return problems
        }
    }
}
