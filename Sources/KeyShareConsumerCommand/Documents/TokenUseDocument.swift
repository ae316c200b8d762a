package import CommandSupport
package import Foundation

/// The JSON document of the consumer's `token sign` and `token decrypt`.
package struct TokenUseDocument: Encodable, Sendable {
    /// The identity whose key was used.
    package let identity: IdentityDocument
    /// The token's identifier (`kSecAttrTokenID`).
    package let tokenID: String
    /// The operation: `sign` or `decrypt`.
    package let operation: String
    /// The name of the algorithm's constant in the Security framework, without `kSecKeyAlgorithm`.
    package let algorithm: String
    /// The signature in base64; null after a decryption, whose result is only written to the file.
    package let signature: Data?

    /// Creates the document for a key use; `signature` is nil for a decryption.
    package init(
        _ identity: IdentityDocument, tokenID: String, operation: String, algorithm: String, signature: Data?
    ) {
        self.identity = identity
        self.tokenID = tokenID
        self.operation = operation
        self.algorithm = algorithm
        self.signature = signature
    }

    // Encodes the fields of the identity next to those of the document.
    package func encode(to encoder: any Encoder) throws {
        try IdentityDocument.encode(identity, to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tokenID, forKey: .tokenID)
        try container.encode(operation, forKey: .operation)
        try container.encode(algorithm, forKey: .algorithm)
        try container.encode(signature?.base64EncodedString(), forKey: .signature)
    }

    private enum CodingKeys: CodingKey {
        case tokenID, operation, algorithm, signature
    }
}
