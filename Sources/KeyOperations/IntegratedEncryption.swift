internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

/// Encrypts and decrypts in the format of `kSecKeyAlgorithmECIESEncryption…AESGCM`: the ephemeral public key, followed
/// by the ciphertext and the tag.
///
/// The AES key is derived from the shared secret. The shared information of the derivation is the ephemeral public key
/// followed by the caller's shared information. The key has 128 bits on curves of up to 256 bits, otherwise 256 bits.
/// The initialization vector is 16 zero bytes, or the 16 derived bytes that follow the key.
struct IntegratedEncryption {
    private static let vectorCount = 16
    private let digest: DigestAlgorithm
    private let hasVariableIV: Bool
    private let keyCount: Int
    private let pointCount: Int
    private let parameters: KeyOperationParameters

    /// Prepares for an algorithm and a curve. Returns nil if the algorithm is not an ECIES algorithm.
    ///
    /// - Parameters:
    ///   - algorithm: An ECIES algorithm.
    ///   - bits: The size of the curve's order in bits.
    ///   - parameters: The caller's shared information and associated data.
    init?(_ algorithm: SecKeyAlgorithm, bits: Int, parameters: KeyOperationParameters) {
        guard case .eciesEncryption(_, let digest, let hasVariableIV) = algorithm else { return nil }
        self.digest = digest.algorithm
        self.hasVariableIV = hasVariableIV
        self.parameters = parameters
        keyCount = bits <= 256 ? 16 : 32
        // An uncompressed point: one byte for the form, and two coordinates (SEC 1, 2.3.3).
        pointCount = 1 + 2 * ((bits + 7) / 8)
    }

    /// Encrypts to a public key on the curve of `ephemeral`; returns nil if the keys are on different curves.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL rejects a key.
    func encrypt(
        _ plaintext: SecretBytes, to key: PublicKey, ephemeral: PrivateKey
    ) throws(OpenSSLError) -> [UInt8]? {
        guard let secret = try ephemeral.sharedSecret(with: Array(key.keyOctets)) else { return nil }
        let point = Array(ephemeral.publicKey.keyOctets)
        let (cipherKey, vector) = try derive(secret, point)
        return point
            + (try AESGCM.seal(
                plaintext, key: cipherKey, vector: vector, associatedData: parameters.associatedData))
    }

    /// Decrypts `data`. Returns nil if it was altered, is too short, or was encrypted for another key.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL rejects the key.
    func decrypt(_ data: [UInt8], key: PrivateKey) throws(OpenSSLError) -> SecretBytes? {
        guard data.count >= pointCount + AESGCM.tagCount else { return nil }
        let point = Array(data[..<pointCount])
        guard let secret = try key.sharedSecret(with: point) else { return nil }
        let (cipherKey, vector) = try derive(secret, point)
        return try AESGCM.open(
            data[pointCount...], key: cipherKey, vector: vector, associatedData: parameters.associatedData)
    }

    private func derive(
        _ secret: SecretBytes, _ point: [UInt8]
    ) throws(OpenSSLError) -> (key: SecretBytes, vector: [UInt8]) {
        let derived = try X963KeyDerivation.derive(
            from: secret, digest: digest, sharedInfo: point + parameters.sharedInfo,
            count: keyCount + (hasVariableIV ? Self.vectorCount : 0))
        return unsafe derived.withUnsafeBytes { bytes in
            let vector =
                hasVariableIV
                ? unsafe Array(bytes[keyCount...]) : [UInt8](repeating: 0, count: Self.vectorCount)
            return unsafe (SecretBytes(bytes[..<keyCount]), vector)
        }
    }
}
