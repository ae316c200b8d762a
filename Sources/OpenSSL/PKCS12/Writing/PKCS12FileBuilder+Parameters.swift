package import SecretMemory
internal import SwiftASN1

// Layers and MACs with parameters that no profile has, for test vectors. The password is in the encoding of the key
// derivation, so that a test vector can also use the wrong encoding.
extension PKCS12FileBuilder {
    /// Encrypts a layer as an AlgorithmIdentifier specifies.
    ///
    /// - Parameters:
    ///   - plaintext: The octets of SafeContents or of a PrivateKeyInfo.
    ///   - algorithm: The BER of the AlgorithmIdentifier.
    ///   - password: The password's octets: a BMPString with a terminator for a scheme of RFC 7292, C, UTF-8 otherwise.
    ///   - limits: The limits on iterations and memory.
    /// - Returns: The ciphertext.
    /// - Throws: `PKCS12Error` for an algorithm that a reader would reject, `OpenSSLError` if OpenSSL lacks it.
    package static func ciphertext(
        of plaintext: [UInt8], algorithm: [UInt8], password: SecretBytes, limits: PKCS12Limits = .standard
    ) throws -> [UInt8] {
        let scheme = try EncryptionScheme(BER.parse(algorithm), limits: limits, at: "new file")
        let (key, vector) = try scheme.keyMaterial(password: password, limits: limits)
        return try CipherOperation(scheme.cipher, key: key, vector: vector).encrypt(SecretBytes(plaintext))
    }

    /// Computes the MAC of RFC 7292, 5.1, with any digest.
    ///
    /// - Parameters:
    ///   - message: The AuthenticatedSafe.
    ///   - digest: The digest, a dotted identifier.
    ///   - password: The password as a BMPString with a terminator.
    ///   - salt: The salt of the key derivation.
    ///   - iterations: The iterations of the key derivation.
    /// - Throws: `PKCS12Error` for an unknown digest, `OpenSSLError` if OpenSSL fails.
    package static func code(
        over message: [UInt8], digest: String, password: SecretBytes, salt: [UInt8], iterations: Int
    ) throws -> [UInt8] {
        guard let digest = DigestProperties(digest) else { throw PKCS12Error.unsupported(oid: digest) }
        let key = try KeyDerivation.pkcs12(
            .integrityKey, password: password, salt: salt, iterations: iterations, digest: digest.name,
            count: digest.size, context: digest.context)
        let code = try HMAC.authenticate(message, key: key, digest: digest.name, context: digest.context)
        return unsafe code.withUnsafeBytes { unsafe Array($0) }
    }

    /// Computes the MAC of PBMAC1 with PBKDF2 (RFC 8018, 7.1), with a key of any length.
    ///
    /// - Parameters:
    ///   - message: The AuthenticatedSafe.
    ///   - function: The HMAC in PBKDF2, a dotted identifier.
    ///   - scheme: The HMAC of the MAC, a dotted identifier.
    ///   - password: The password's octets.
    ///   - salt: The salt of PBKDF2.
    ///   - iterations: The iterations of PBKDF2.
    ///   - keyLength: The length of the MAC's key, in octets.
    /// - Throws: `PKCS12Error` for an unknown HMAC, `OpenSSLError` if OpenSSL fails.
    package static func pbmac1Code(
        over message: [UInt8], function: String, scheme: String, password: SecretBytes, salt: [UInt8],
        iterations: Int, keyLength: Int
    ) throws -> [UInt8] {
        guard let derivation = HMACName.digests[function].flatMap({ DigestProperties($0) }) else {
            throw PKCS12Error.unsupported(oid: function)
        }
        guard let digest = HMACName.digests[scheme].flatMap({ DigestProperties($0) }) else {
            throw PKCS12Error.unsupported(oid: scheme)
        }
        let key = try KeyDerivation.pbkdf2(
            password: password, salt: salt, iterations: iterations, digest: derivation.name, count: keyLength,
            context: derivation.context)
        let code = try HMAC.authenticate(message, key: key, digest: digest.name, context: digest.context)
        return unsafe code.withUnsafeBytes { unsafe Array($0) }
    }
}
