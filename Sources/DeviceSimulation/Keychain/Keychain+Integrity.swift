internal import GRDB

/// A fault in the keychain's file.
package enum KeychainProblem: Sendable, Hashable {
    /// The file's structure is damaged, in SQLite's words, or has foreign or missing parts.
    case structure(String)
    /// An item does not open, because it was altered or moved; its id, nil where the id is unreadable.
    case item(id: Int64?)
}

extension Keychain {
    /// Looks for damage in the structure of the keychain's file (`PRAGMA quick_check`), and for tables, indexes
    /// and triggers that are not those this program makes.
    ///
    /// - Throws: `KeychainError` when the file cannot be read at all.
    /// - Returns: the faults; empty when all is well.
    package func quickCheck() throws(KeychainError) -> [KeychainProblem] {
        try structure("quick_check")
    }

    private func structure(_ pragma: String) throws(KeychainError) -> [KeychainProblem] {
        try store.read { database in
            try String.fetchAll(database, sql: "PRAGMA \(pragma)")
                .filter { $0 != "ok" }.map(KeychainProblem.structure) + KeychainSchema.problems(database)
        }
    }

    /// Looks for damage in the structure (`PRAGMA integrity_check`, which compares each index with its table), and
    /// decrypts every item of the device, other apps' included, to see whether it was altered. Goes on behind what it
    /// finds. No secret leaves this call. Items that another program deleted or put back, and a database that was put
    /// back as a whole, are told by the sealed account of the items, as far as the file with the number of changes can
    /// tell.
    ///
    /// - Throws: `KeychainError` when the file cannot be read at all.
    /// - Returns: the faults; empty when all is well.
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
