internal import KeyOperations
package import OpenSSL
package import PersistentToken
package import SecretMemory

extension TokenIdentity {
    /// The key, for whatever takes a private key: each use of it is carried out elsewhere, by the provider as a rule.
    ///
    /// What `use` throws comes out of the operation. Only that a ciphertext does not decrypt is no error of the token's,
    /// but one of the message, and the same as with a key that is here: why is told to nobody (RFC 8017, 7.2.2).
    ///
    /// - Parameter use: has the key used, and blocks the thread until it was.
    /// - Throws: `CertificateError` for a key that OpenSSL does not load.
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
