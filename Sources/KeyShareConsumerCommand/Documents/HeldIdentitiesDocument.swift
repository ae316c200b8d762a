package import CommandSupport

/// The JSON document of the consumer's `list`.
package struct HeldIdentitiesDocument: Codable, Sendable {
    /// The identities in list order.
    package let identities: [IdentityDocument]

    /// Creates the document with the identities of a keychain.
    package init(identities: [IdentityDocument]) {
        self.identities = identities
    }
}
