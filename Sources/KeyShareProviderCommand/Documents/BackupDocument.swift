/// The JSON document of `backup`.
package struct BackupDocument: Codable, Sendable {
    /// The number of keychain items in the backup.
    package let items: Int

    /// Creates the document for a backup with this number of items.
    package init(items: Int) {
        self.items = items
    }
}
