package import KeySharing
package import PersistentToken

/// The JSON document of `token list`, of the provider and of the consumer, and of `token add`.
package struct TokensDocument: Codable, Sendable {
    /// One token: a certificate and its key, as an app finds them in the keychain's group `com.apple.token`.
    package typealias Token = WithIdentity<TokenFields>

    /// What is known of a token beside whose the identity is.
    package struct TokenFields: Codable, Sendable {
        /// The token's identifier (`kSecAttrTokenID`).
        package let tokenID: String
        /// The identifier of both of its items (`kSecAttrTokenOID`), which is the label of the identity.
        package let objectID: String
        /// The kind of key: `RSA` or `EC`.
        package let keyType: String
        /// The size of the key in bits.
        package let keyBits: Int
        /// Whether the key signs (`kSecAttrCanSign`).
        package let canSign: Bool
        /// Whether the key decrypts (`kSecAttrCanDecrypt`).
        package let canDecrypt: Bool
        /// Whether the key agrees on secrets (`kSecAttrCanDerive`).
        package let canDerive: Bool
        /// Whether the key is there; it goes with the device's passcode.
        package let keyPresent: Bool
        /// How these properties follow from the certificate: `crypto-token-kit` or `rfc5280`.
        package let rule: String
        /// Whether key sharing does not publish the identity, so that it is a token alone; left out where it is
        /// published, and in the list of a consumer, who cannot know.
        package let tokenOnly: Bool?
    }

    /// The tokens in the order in which they were registered.
    package let tokens: [Token]

    /// Describes tokens.
    package init(tokens: [Token]) {
        self.tokens = tokens
    }
}

extension TokensDocument.Token {
    /// Describes a token.
    ///
    /// - Parameters:
    ///   - summary: whose the identity is.
    ///   - keyType: the kind of key.
    ///   - keyBits: the size of the key in bits.
    ///   - properties: what an app may do with the key.
    ///   - hasKey: whether the key is there.
    ///   - rule: how the properties follow from the certificate.
    ///   - isAlone: whether it is known that key sharing does not publish the identity.
    package init(
        _ summary: IdentitySummary, keyType: String, keyBits: Int, properties: TokenKeyProperties,
        hasKey: Bool, rule: TokenKeyProperties.Rule, isAlone: Bool = false
    ) {
        self.init(
            IdentityDocument(summary),
            TokensDocument.TokenFields(
                tokenID: TokenIdentifier.token(summary.label), objectID: summary.label, keyType: keyType,
                keyBits: keyBits, canSign: properties.canSign, canDecrypt: properties.canDecrypt,
                canDerive: properties.canPerformKeyExchange, keyPresent: hasKey, rule: rule.rawValue,
                tokenOnly: isAlone ? true : nil))
    }
}

extension Console {
    /// Writes tokens as a table: what their keys are for, whose they are, and how to name them.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func table(of tokens: [TokensDocument.Token]) throws(CommandFailure) {
        var table = Table(
            "TYPE", "USE", "KEY", .init("PERSON", .wraps(16)), .init("EXPIRES", leaves: 1),
            .init("LABEL", .uniqueStart()))
        for token in tokens {
            let uses = [
                token.canSign ? "sign" : nil, token.canDecrypt ? "decrypt" : nil,
                token.canDerive ? "derive" : nil,
            ].compactMap(\.self)
            let key = "\(token.keyType)-\(token.keyBits)" + (token.keyPresent ? "" : " (gone)")
            table.append(
                token.identity.type, uses.isEmpty ? "-" : uses.joined(separator: ","), key,
                token.identity.personText, token.identity.expiryText, token.objectID)
        }
        try self.table(table)
    }
}
