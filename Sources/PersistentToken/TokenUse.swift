package import KeyShareProtocol
/// An app's request to use a token's key.
package struct TokenUse: Sendable, Hashable {
    /// The identifier of the token's object (`kSecAttrTokenOID`), which is the label of the identity. For a KeyChain
    /// entry, `Wire.aliasObjectPrefix` and the alias.
    package var objectID: String
    /// The operation of the key.
    package var operation: TokenOperation
    /// The algorithm's name or identifier, as accepted by ``SecKeyAlgorithm/init(named:)``. The token rejects any other
    /// text.
    package var algorithm: String
    /// The additional parameters of the algorithm, such as the salt length of PSS.
    package var parameters: KeyOperationParameters
    /// The input of the operation: a message or digest to sign, a ciphertext to decrypt, or for a key exchange the
    /// other public key as an encoded point (SEC 1, 2.3.3).
    package var data: [UInt8]
    /// The name of the client in its hello. The provider's session sets it; it is not part of the message. It is not
    /// authenticated.
    package var app = ""

    /// Creates a key use, by default without parameters and data.
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

    /// Creates a key use with an algorithm, which determines the operation.
    package init(
        objectID: String, _ algorithm: SecKeyAlgorithm,
        parameters: KeyOperationParameters = KeyOperationParameters(), data: [UInt8] = []
    ) {
        self.init(
            objectID: objectID, operation: algorithm.operation, algorithm: algorithm.name,
            parameters: parameters, data: data)
    }
}

extension TokenUse {
    /// The alias of the KeyChain entry that the object ID names; nil if it names a token's object.
    package var alias: String? {
        guard objectID.hasPrefix(Wire.aliasObjectPrefix) else { return nil }
        return String(objectID.dropFirst(Wire.aliasObjectPrefix.count))
    }
}

/// A token as an app finds it: a certificate, and the properties of its key.
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
    /// The operations that an app may perform with the key.
    package var properties: TokenKeyProperties
    /// Whether the key exists. It is deleted with the device's passcode.
    package var hasKey: Bool
    /// The rule that derives the properties from the certificate.
    package var rule: TokenKeyProperties.Rule

    /// Creates an entry of the list.
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
    /// The tokens, in the order of registration.
    package var entries: [TokenEntry]
    /// A number that grows whenever a token is registered or removed, or a key is deleted. Pages with different numbers
    /// do not belong to the same list.
    package var changeCount: UInt64
    /// The cursor for the next page; nil on the last page.
    package var nextCursor: String?

    /// Creates a page of tokens.
    package init(entries: [TokenEntry], changeCount: UInt64, nextCursor: String?) {
        self.entries = entries
        self.changeCount = changeCount
        self.nextCursor = nextCursor
    }
}

/// The state of a provider's token.
package struct TokenStatus: Sendable, Hashable {
    /// A number that changes whenever the list of tokens changes.
    package var changeCount: UInt64
    /// The number of registered tokens.
    package var tokenCount: Int
    /// Whether the device is unlocked, so that keys can be used.
    package var isUnlocked: Bool
    /// Whether the device has a passcode. Without a passcode there are no keys.
    package var hasPasscode: Bool
    /// How many times the device was locked or restarted. Open keys are closed when this number increases.
    package var lockCount: UInt64
    /// The number of open keys, those that can be used without another prompt.
    package var openKeys: Int
    /// Sixteen hexadecimal digits that identify the device.
    package var deviceSerial: String

    /// Creates a status.
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
