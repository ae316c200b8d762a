internal import KeyOperations
package import KeyShareClient
internal import KeyShareProtocol
internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

extension TokenIdentity {
    /// Uses the token's key to check that it belongs to the certificate. The key signs random bytes. If it cannot
    /// sign, it decrypts random bytes that were encrypted for the certificate.
    ///
    /// The provider must be running, and it may ask the user for consent.
    ///
    /// - Parameter client: a connection to the provider.
    /// - Throws: `TokenError` if the key cannot be used; the errors of `ProviderClient.use(_:)`, `ProviderFailure` and
    ///   `SocketError`.
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
            // Decryption fails if the key belongs to another certificate.
            return false
        }
    }
}
