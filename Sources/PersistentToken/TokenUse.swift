/// A use of a token's key, as an app asks for it.
package struct TokenUse: Sendable, Hashable {
    /// The identifier of the token's object (`kSecAttrTokenOID`), which is the label of the identity.
    package var objectID: String
    /// What the key shall do.
    package var operation: TokenOperation
    /// The algorithm's name or identifier, as ``SecKeyAlgorithm/init(named:)`` reads it; any other text is refused by
    /// the token.
    package var algorithm: String
    /// What the operation takes besides.
    package var parameters: KeyOperationParameters
    /// The message, the digest, the ciphertext, or the other public key as an encoded point (SEC 1, 2.3.3).
    package var data: [UInt8]

    /// Describes a use of a key.
    package init(
        objectID: String, operation: TokenOperation, algorithm: String,
        parameters: KeyOperationParameters = KeyOperationParameters(), data: [UInt8] = []
    ) {
        self.objectID = objectID
        self.operation = operation
        self.algorithm = algorithm
        self.parameters = parameters
        self.data = data
    }

    /// Describes a use of a key with an algorithm, which has one operation.
    package init(
        objectID: String, _ algorithm: SecKeyAlgorithm,
        parameters: KeyOperationParameters = KeyOperationParameters(), data: [UInt8] = []
    ) {
        self.init(
            objectID: objectID, operation: algorithm.operation, algorithm: algorithm.name,
            parameters: parameters, data: data)
    }
}

/// A token as an app finds it: a certificate, and what is known of the key.
package struct TokenEntry: Sendable, Hashable {
    /// The token's identifier (`kSecAttrTokenID`).
    package var tokenID: String
    /// The identifier of both of the token's items (`kSecAttrTokenOID`).
    package var objectID: String
    /// The label of both items (`kSecAttrLabel`), which is the common name of the certificate's subject.
    package var label: String
    /// The certificate in DER.
    package var certificate: [UInt8]
    /// The kind of key (`kSecAttrKeyType`).
    package var keyFamily: SecKeyAlgorithm.KeyFamily
    /// The size of the key in bits (`kSecAttrKeySizeInBits`).
    package var keyBits: Int
    /// What an app may do with the key.
    package var properties: TokenKeyProperties
    /// Whether the key is there; it goes with the device's passcode.
    package var hasKey: Bool
    /// How the properties follow from the certificate.
    package var rule: TokenKeyProperties.Rule

    /// Makes an entry of its parts.
    package init(
        tokenID: String, objectID: String, label: String, certificate: [UInt8],
        keyFamily: SecKeyAlgorithm.KeyFamily, keyBits: Int, properties: TokenKeyProperties, hasKey: Bool,
        rule: TokenKeyProperties.Rule
    ) {
        self.tokenID = tokenID
        self.objectID = objectID
        self.label = label
        self.certificate = certificate
        self.keyFamily = keyFamily
        self.keyBits = keyBits
        self.properties = properties
        self.hasKey = hasKey
        self.rule = rule
    }
}

/// A page of the list of tokens.
package struct TokenPage: Sendable, Hashable {
    /// The tokens, in the order in which they were registered.
    package var entries: [TokenEntry]
    /// A number that grows whenever a token is registered or removed, or a key goes. Pages with different numbers do
    /// not make up one list.
    package var changeCount: UInt64
    /// The cursor that asks for the next page; nil at the end.
    package var nextCursor: String?

    /// Makes a page of its parts.
    package init(entries: [TokenEntry], changeCount: UInt64, nextCursor: String?) {
        self.entries = entries
        self.changeCount = changeCount
        self.nextCursor = nextCursor
    }
}

/// What a token's provider says about itself.
package struct TokenStatus: Sendable, Hashable {
    /// A number that stays while the list of tokens stays as it is.
    package var changeCount: UInt64
    /// How many tokens are registered.
    package var tokenCount: Int
    /// Whether the device is unlocked, so that keys can be used.
    package var isUnlocked: Bool
    /// Whether the device has a passcode, without which there is no key.
    package var hasPasscode: Bool
    /// How often the device was locked or restarted. A key that the user has opened is closed when this grows.
    package var lockCount: UInt64
    /// How many keys are open, and are used without asking the user.
    package var openKeys: Int
    /// Sixteen hexadecimal digits that tell this device from others.
    package var deviceSerial: String

    /// Makes a status of its parts.
    package init(
        changeCount: UInt64, tokenCount: Int, isUnlocked: Bool, hasPasscode: Bool, lockCount: UInt64,
        openKeys: Int, deviceSerial: String
    ) {
        self.changeCount = changeCount
        self.tokenCount = tokenCount
        self.isUnlocked = isUnlocked
        self.hasPasscode = hasPasscode
        self.lockCount = lockCount
        self.openKeys = openKeys
        self.deviceSerial = deviceSerial
    }
}
