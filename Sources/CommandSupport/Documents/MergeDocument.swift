/// The JSON document of `merge`.
package struct MergeDocument: Codable, Sendable {
    /// How many identities were added to the keychain.
    package let added: Int
    /// How many tokens were registered, with those of identities that are tokens alone.
    package let registered: Int

    /// Describes a merge.
    package init(added: Int, registered: Int) {
        self.added = added
        self.registered = registered
    }
}
