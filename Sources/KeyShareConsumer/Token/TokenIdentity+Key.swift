internal import KeyOperations
internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
package import SecretMemory

extension TokenIdentity {
    /// Returns a private key object for functions that require one. It contains no key material: each key use calls
    /// `use`, which normally sends a request to the provider.
    ///
    /// If a ciphertext cannot be decrypted, the error does not contain the reason, as for a local key (RFC 8017,
    /// 7.2.2). For all other failures, operations throw the error that `use` throws.
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
