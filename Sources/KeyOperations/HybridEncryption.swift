internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

/// Encrypts and decrypts in the format of `kSecKeyAlgorithmRSAEncryptionOAEP…AESGCM`: the session key encrypted with
/// RSAES-OAEP, followed by the ciphertext and the tag.
///
/// The session key is an AES-128 key if the RSA key has fewer than 4,096 bits, otherwise an AES-256 key. The
/// initialization vector is 16 zero bytes, which is safe because each session key encrypts only one message. The tag
/// also authenticates the public key.
enum HybridEncryption {
    private static let vector = [UInt8](repeating: 0, count: 16)

    /// Returns the length in bytes of the session key for an RSA key of `bits` bits.
    private static func sessionKeyCount(bits: Int) -> Int { bits < 4096 ? 16 : 32 }

    /// Encrypts `plaintext` under a session key that is generated from `random`.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL rejects the key.
    static func encrypt(
        _ plaintext: SecretBytes, to key: PublicKey, _ algorithm: SecKeyAlgorithm, random: RandomSource
    ) throws(OpenSSLError) -> [UInt8] {
        var generator = random.generator()
        let sessionKey = SecretBytes(generator.octets(sessionKeyCount(bits: key.bits)))
        let wrapped = try key.encryptRSA(sessionKey, padding: algorithm.padding ?? .none)
        return wrapped
            + (try AESGCM.seal(
                plaintext, key: sessionKey, vector: vector, associatedData: Array(key.keyOctets)))
    }

    /// Decrypts `data`. Returns nil if it was altered or encrypted for another key.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL rejects the key.
    static func decrypt(
        _ data: [UInt8], key: PrivateKey, _ algorithm: SecKeyAlgorithm
    ) throws(OpenSSLError) -> SecretBytes? {
        let size = (key.bits + 7) / 8
        guard data.count >= size + AESGCM.tagCount,
            let sessionKey = try key.decryptRSA(Array(data[..<size]), padding: algorithm.padding ?? .none),
            sessionKey.count == sessionKeyCount(bits: key.bits)
        else { return nil }
        return try AESGCM.open(
            data[size...], key: sessionKey, vector: vector, associatedData: Array(key.publicKey.keyOctets))
    }
}
