package import KeyShareProtocol
internal import PersistentToken

/// The JSON document of `token dump`: CryptoTokenKit's registrations of a driver.
package struct TokenDumpDocument: Codable, Sendable {
    /// One token of the driver (`TKToken.Configuration`).
    package struct Token: Codable, Sendable {
        /// The name of the token, unique within its driver.
        package let instanceID: String
        /// The provider's data; always empty.
        package let configurationData: String?
        /// The certificate and the key (`TKTokenKeychainItem`).
        package let items: [Item]

        /// Creates the entry for the token of an identity.
        ///
        /// - Parameters:
        ///   - label: The label of the identity.
        ///   - name: The name of the items.
        ///   - operations: The operations that the key permits.
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
        /// The identifier of the item, shared by the certificate and the key.
        package let objectID: String
        /// The kind of item: `certificate` or `key`.
        package let kind: String
        /// The name that is shown to users.
        package let label: String
        /// For each permitted operation, whether it is always allowed (`TKTokenKeychainItem.constraints`).
        package let constraints: [String: Bool]
    }

    /// The class of the driver (`com.apple.ctk.class-id`).
    package let classID: String
    /// The tokens in the order in which they were registered.
    package let tokens: [Token]

    /// Creates the document for the tokens of the provider's driver.
    package init(_ tokens: [Token]) {
        classID = TokenIdentifier.driverClass
        self.tokens = tokens
    }
}
