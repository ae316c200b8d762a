/// The JSON document of the consumer's `list`.
package struct HeldIdentitiesDocument: Codable, Sendable {
    /// The identities in the order of lists.
    package let identities: [IdentityDocument]

    /// Describes the identities of a keychain.
    package init(identities: [IdentityDocument]) {
        self.identities = identities
    }
}
