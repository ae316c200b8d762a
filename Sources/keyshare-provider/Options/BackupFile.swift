import ArgumentParser

/// What the files of a backup may be called.
enum BackupFile {
    /// Refuses `-`, which means standard input or output everywhere else and would name a file here: a database
    /// has to lie on disk.
    ///
    /// - Throws: `ValidationError`.
    static func validate(_ paths: String?...) throws {
        guard !paths.contains("-"), !paths.contains("") else {
            throw ValidationError("a backup and its key are files, not standard input or output")
        }
    }
}
