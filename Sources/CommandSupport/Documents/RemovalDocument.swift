/// The JSON document of the provider's and the consumer's `clear`.
package struct RemovalDocument: Codable, Sendable {
    /// The number of items that were removed from the keychain.
    package let removed: Int
    /// The folder to which a damaged keychain was moved; omitted if the keychain was intact.
    package let keptIn: String?

    /// Creates the document of a removal.
    package init(removed: Int, keptIn: String? = nil) {
        self.removed = removed
        self.keptIn = keptIn
    }
}
