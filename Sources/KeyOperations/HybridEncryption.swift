internal import OpenSSL
internal import PersistentToken
internal import SecretMemory

/// The format of `kSecKeyAlgorithmRSAEncryptionOAEP…AESGCM`: the session key encrypted with RSAES-OAEP, the ciphertext,
/// the tag.
///
/// The session key is an AES-128 key below RSA-4096, otherwise an AES-256 key. The initialization vector is 16 zero
/// bytes, which is safe because each session key encrypts only one message. The tag also authenticates the public key.
enum HybridEncryption {
    private static let vector = [UInt8](repeating: 0, count: 16)

    /// The length of a session key for an RSA key of this size, in bytes.
    private static func sessionKeyCount(bits: Int) -> Int { bits < 4096 ? 16 : 32 }

    /// Encrypts with a session key from `random`.
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

    /// Decrypts; returns nil if the data cannot be decrypted.
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
