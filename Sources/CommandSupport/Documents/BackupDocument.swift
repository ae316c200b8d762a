/// The JSON document of `backup`.
package struct BackupDocument: Codable, Sendable {
    /// How many items of the keychain the backup holds.
    package let items: Int

    /// Describes a backup of so many items.
    package init(items: Int) {
        self.items = items
    }
}
