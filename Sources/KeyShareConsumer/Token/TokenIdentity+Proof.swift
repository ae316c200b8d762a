internal import KeyOperations
package import KeyShareClient
internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

extension TokenIdentity {
    /// Tells whether the token's key is the certificate's, by using it: it signs random bytes, or where it does not sign,
    /// it decrypts what was encrypted with the certificate.
    ///
    /// The user may be asked, and the provider must serve.
    ///
    /// - Parameter client: a connection to the provider.
    /// - Throws: `TokenError` where the key cannot be used; `ProviderFailure` and `SocketError`, as
    ///   `ProviderClient.use(_:)`.
    package func provesKey(to client: ProviderClient) async throws -> Bool {
        var random = RandomSource.system.generator()
        let challenge = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let isRSA = entry.keyFamily == .rsa
        let publicKey = certificate.publicKey
        if entry.properties.canSign {
            let algorithm: SecKeyAlgorithm =
                isRSA ? .rsaSignaturePKCS1v15(.message, .sha256) : .ecdsaSignatureX962(.message, .sha256)
            let signature = try await client.use(
                TokenUse(objectID: entry.objectID, algorithm, data: challenge))
            return try publicKey.verify(
                signature.withTransientArray { $0.map(\.self) }, of: challenge, algorithm)
        }
        let algorithm: SecKeyAlgorithm =
            isRSA
            ? .rsaEncryptionOAEP(.sha256) : .eciesEncryption(isCofactor: false, .sha256, hasVariableIV: false)
        let ciphertext = try publicKey.encrypt(SecretBytes(challenge), algorithm)
        do {
            let plaintext = try await client.use(
                TokenUse(objectID: entry.objectID, algorithm, data: ciphertext))
            return plaintext == SecretBytes(challenge)
        } catch let error as TokenError where error.obstacle == .undecryptable {
            // Another key does not decrypt it.
            return false
        }
    }
}
