package import GRDB

extension Configuration {
    /// Settings for a database whose file others may have altered, and which holds secrets.
    ///
    /// Functions and views that a foreign schema names are not run (`trusted_schema`), deleted rows are overwritten
    /// (`secure_delete`), page structure is checked while reading (`cell_size_check`), nothing temporary reaches a
    /// disk (`temp_store`), and an acknowledged write survives a power cut (`synchronous`, which WAL mode would
    /// otherwise lower to NORMAL). Source: sqlite.org/pragma.html and sqlite.org/security.html.
    ///
    /// - Parameters:
    ///   - label: names the connection in error messages and debuggers.
    ///   - readonly: whether the file is opened for reading only.
    package static func hardened(label: String, readonly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.readonly = readonly
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
        return configuration
    }
}
