/// The JSON document of `restore`, of the provider and of the device.
package struct RestorationDocument: Codable, Sendable {
    /// How many items were put into the keychain.
    package let restored: Int
    /// How many items stayed behind: they are for another device alone, or they are in the keychain already.
    package let left: Int
    /// The folder that keeps a damaged keychain; left out where the keychain was sound.
    package let keptIn: String?

    /// Describes what came of a restoration.
    package init(restored: Int, left: Int, keptIn: String? = nil) {
        self.restored = restored
        self.left = left
        self.keptIn = keptIn
    }
}
