internal import KeyOperations
internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
package import SecretMemory

extension TokenIdentity {
    /// The private key, for functions that require one. Each key use is delegated to `use`, normally to the provider.
    ///
    /// Operations throw the errors that `use` throws, except if a ciphertext cannot be decrypted. That is an error of
    /// the message, and it is reported as for a local key: without the reason (RFC 8017, 7.2.2).
    ///
    /// - Parameter use: performs one key use, blocking the thread.
    /// - Throws: `CertificateError` if OpenSSL cannot load the key.
    package func privateKey(
        _ use: @escaping @Sendable (TokenUse) throws -> SecretBytes
    ) throws(CertificateError) -> PrivateKey {
        let object = entry.objectID
        return try PrivateKey(of: certificate.publicKey) { asked in
            let (algorithm, data) = try SecKeyAlgorithm.of(asked)
            do {
                return try use(TokenUse(objectID: object, algorithm, data: data))
            } catch let error as TokenError where algorithm.operation == .decrypt {
                switch error.obstacle {
                case .undecryptable, .wrongLength: return nil
                default: throw error
                }
            }
        }
    }
}
