/// The JSON document of `merge`.
package struct MergeDocument: Codable, Sendable {
    /// How many identities were added to the keychain.
    package let added: Int

    /// Describes a merge that added so many identities.
    package init(added: Int) {
        self.added = added
    }
}
