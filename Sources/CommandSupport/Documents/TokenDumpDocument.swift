package import PersistentToken

/// The JSON document of `token dump`: what CryptoTokenKit keeps of a driver's registrations.
package struct TokenDumpDocument: Codable, Sendable {
    /// One token of the driver (`TKToken.Configuration`).
    package struct Token: Codable, Sendable {
        /// The name of the token among those of its driver.
        package let instanceID: String
        /// Bytes of the provider's own; none are used.
        package let configurationData: String?
        /// The certificate and the key (`TKTokenKeychainItem`).
        package let items: [Item]

        /// Describes the token of an identity.
        ///
        /// - Parameters:
        ///   - label: the label of the identity.
        ///   - name: the name that the items have.
        ///   - operations: what the key may do.
        package init(label: String, name: String, operations: [TokenOperation]) {
            instanceID = label
            configurationData = nil
            let constraints = operations.reduce(into: [String: Bool]()) { $0["\($1)"] = true }
            items = [
                Item(objectID: label, kind: "certificate", label: name, constraints: [:]),
                Item(objectID: label, kind: "key", label: name, constraints: constraints),
            ]
        }
    }

    /// One item of a token.
    package struct Item: Codable, Sendable {
        /// The identifier of the item, which certificate and key share.
        package let objectID: String
        /// What the item is: `certificate` or `key`.
        package let kind: String
        /// The name for people.
        package let label: String
        /// For each operation that is possible whether it is always allowed (`TKTokenKeychainItem.constraints`).
        package let constraints: [String: Bool]
    }

    /// The class of the driver (`com.apple.ctk.class-id`).
    package let classID: String
    /// The tokens in the order in which they were registered.
    package let tokens: [Token]

    /// Describes the tokens of the provider's driver.
    package init(_ tokens: [Token]) {
        classID = TokenIdentifier.driverClass
        self.tokens = tokens
    }
}
