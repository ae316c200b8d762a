/// The JSON document of `merge`.
package struct MergeDocument: Codable, Sendable {
    /// The number of identities that were added to the keychain.
    package let added: Int
    /// The number of registered tokens, including those of token-only identities.
    package let registered: Int

    /// Creates the document for a merge with these counts.
    package init(added: Int, registered: Int) {
        self.added = added
        self.registered = registered
    }
}
