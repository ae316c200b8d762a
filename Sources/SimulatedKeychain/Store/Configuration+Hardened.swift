package import GRDB

extension Configuration {
    /// Settings for a database that contains secrets and that other programs may have altered.
    ///
    /// Functions and views of a foreign schema are not run (`trusted_schema`), deleted rows are overwritten
    /// (`secure_delete`), the page structure is checked while reading (`cell_size_check`), temporary data
    /// never reaches a disk (`temp_store`), and an acknowledged write survives a power cut (`synchronous`,
    /// which WAL mode would otherwise lower to NORMAL). Source: sqlite.org/pragma.html and
    /// sqlite.org/security.html.
    ///
    /// - Parameters:
    ///   - label: The name of the connection in error messages and debuggers.
    ///   - readonly: Whether the file is opened only for reading.
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
