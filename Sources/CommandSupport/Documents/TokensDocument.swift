package import KeySharing
package import PersistentToken

/// The JSON document of `token add`, and of the provider's and the consumer's `token list`.
package struct TokensDocument: Codable, Sendable {
    /// One token: a certificate and its key, as apps find them in the keychain group `com.apple.token`.
    package typealias Token = WithIdentity<TokenFields>

    /// The fields of a token, except the fields of its identity.
    package struct TokenFields: Codable, Sendable {
        /// The token's identifier (`kSecAttrTokenID`).
        package let tokenID: String
        /// The identifier of the token's certificate and of its key (`kSecAttrTokenOID`): the label of the identity.
        package let objectID: String
        /// The kind of key: `RSA` or `EC`.
        package let keyType: String
        /// The size of the key in bits.
        package let keyBits: Int
        /// Whether the key can sign (`kSecAttrCanSign`).
        package let canSign: Bool
        /// Whether the key can decrypt (`kSecAttrCanDecrypt`).
        package let canDecrypt: Bool
        /// Whether the key can perform key agreement (`kSecAttrCanDerive`).
        package let canDerive: Bool
        /// Whether the key exists. It is deleted with the device's passcode.
        package let keyPresent: Bool
        /// The rule that derives the key's permitted operations from the certificate: `crypto-token-kit` or `rfc5280`.
        package let rule: String
        /// The reason why the key permits no operation: `no-key-usage` if the certificate has no key-usage extension,
        /// `key-usage` if the extension permits nothing; omitted if the key permits an operation.
        package let unusable: String?
        /// Whether the identity is available only as a token, because key sharing does not publish it. Omitted if the
        /// identity is published, and in a consumer's list, because consumers cannot determine this.
        package let tokenOnly: Bool?
    }

    /// The tokens in the order in which they were registered.
    package let tokens: [Token]

    /// Creates the document of a list of tokens.
    package init(tokens: [Token]) {
        self.tokens = tokens
    }
}

extension TokensDocument.Token {
    /// Creates the fields of a token.
    ///
    /// - Parameters:
    ///   - summary: The identity and its holder.
    ///   - keyType: The kind of key.
    ///   - keyBits: The size of the key in bits.
    ///   - properties: The operations that an app may perform with the key.
    ///   - usage: The key usage of the certificate; nil if the extension is missing.
    ///   - hasKey: Whether the key exists.
    ///   - rule: The rule that derives the properties from the certificate.
    ///   - isAlone: Whether it is known that key sharing does not publish the identity.
    package init(
        _ summary: IdentitySummary, keyType: String, keyBits: Int, properties: TokenKeyProperties,
        usage: KeyUsage?, hasKey: Bool, rule: TokenKeyProperties.Rule, isAlone: Bool = false
    ) {
        self.init(
            IdentityDocument(summary),
            TokensDocument.TokenFields(
                tokenID: TokenIdentifier.token(summary.label), objectID: summary.label, keyType: keyType,
                keyBits: keyBits, canSign: properties.canSign, canDecrypt: properties.canDecrypt,
                canDerive: properties.canPerformKeyExchange, keyPresent: hasKey, rule: rule.rawValue,
                unusable: properties.isEmpty ? (usage == nil ? "no-key-usage" : "key-usage") : nil,
                tokenOnly: isAlone ? true : nil))
    }
}

extension [TokensDocument.Token] {
    /// Advice on tokens that are unusable because their certificates have no key-usage extension; nil if there are no
    /// such tokens.
    package var remedyForMissingUsage: String? {
        let labels = filter { $0.unusable == "no-key-usage" }.map(\.objectID)
        guard let first = labels.first else { return nil }
        let which = labels.count == 1 ? String(first.prefix(16)) : "--all"
        return "a key without key usage permits no operation; to permit all of them, as in RFC 5280: "
            + "keyshare-provider token add --rfc5280 \(which)"
    }
}

extension Console {
    /// Writes tokens as a table with key uses, holder and label.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
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
                token.identity.type, token.unusableText ?? uses.joined(separator: ","), key,
                token.identity.personText, token.identity.expiryText, token.objectID)
        }
        try self.table(table)
    }

    /// Prints advice for tokens whose certificates have no key-usage extension; nothing if there are none.
    package func note(ofMissingUsage tokens: [TokensDocument.Token]) {
        if let remedy = tokens.remedyForMissingUsage { note(remedy) }
    }
}

extension TokensDocument.Token {
    /// The reason why the key permits no operation, for a table; nil if the key permits an operation.
    fileprivate var unusableText: String? {
        self.unusable.map { $0 == "no-key-usage" ? "none (no key usage)" : "none (key usage)" }
    }
}
