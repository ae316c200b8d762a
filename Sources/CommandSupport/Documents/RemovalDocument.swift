/// The JSON document of `clear`, of the provider and of the consumer.
package struct RemovalDocument: Codable, Sendable {
    /// How many items were removed from the keychain.
    package let removed: Int
    /// The folder that keeps a damaged keychain; left out where the keychain was sound.
    package let keptIn: String?

    /// Describes what was removed.
    package init(removed: Int, keptIn: String? = nil) {
        self.removed = removed
        self.keptIn = keptIn
    }
}
