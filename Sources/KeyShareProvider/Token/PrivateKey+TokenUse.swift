internal import KeyOperations
internal import KeyShareProtocol
internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

extension PrivateKey {
    /// Performs a key use that was permitted.
    ///
    /// - Returns: The signature, the plaintext or the shared secret.
    func perform(_ use: TokenUse, _ algorithm: SecKeyAlgorithm) throws(TokenError) -> SecretBytes {
        switch use.operation {
        case .sign: SecretBytes(try sign(use.data, algorithm, parameters: use.parameters))
        case .decrypt: try decrypt(use.data, algorithm, parameters: use.parameters)
        case .keyExchange: try exchangeKey(with: use.data, algorithm, parameters: use.parameters)
        }
    }
}
