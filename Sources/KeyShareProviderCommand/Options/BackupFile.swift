import ArgumentParser

/// The rules for the paths of a backup and its key.
enum BackupFile {
    /// Rejects `-` and the empty path. Elsewhere `-` means standard input or output, but the database of a backup must
    /// be a file.
    ///
    /// - Throws: `ValidationError` for such a path.
    static func validate(_ paths: String?...) throws {
        guard !paths.contains("-"), !paths.contains("") else {
            throw ValidationError("a backup and its key must be files, not standard input or output")
        }
    }
}
