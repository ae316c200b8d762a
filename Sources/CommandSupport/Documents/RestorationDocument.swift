/// The JSON document of the provider's and the device's `restore`.
package struct RestorationDocument: Codable, Sendable {
    /// The number of items that were added to the keychain.
    package let restored: Int
    /// The number of items that were not restored, because they are bound to another device or already in the keychain.
    package let left: Int
    /// The folder to which a damaged keychain was moved; omitted if the keychain was intact.
    package let keptIn: String?

    /// Creates the document. By default, every item was restored and no damaged keychain was kept.
    package init(restored: Int, left: Int, keptIn: String? = nil) {
        self.restored = restored
        self.left = left
        self.keptIn = keptIn
    }
}
