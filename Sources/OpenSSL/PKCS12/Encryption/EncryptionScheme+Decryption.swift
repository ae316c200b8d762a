internal import SecretMemory

extension EncryptionScheme {
    /// The result of trying one password on one layer.
    enum Outcome {
        /// The plaintext. With a wrong password, the padding is valid by chance once in 256 tries, so the caller must
        /// check that the plaintext is plausible.
        case opened(SecretBytes)
        /// The padding or the tag is wrong: the password is wrong, or the data is damaged.
        case failed
    }

    /// Decrypts one layer.
    ///
    /// - Parameters:
    ///   - ciphertext: The layer's octets, followed by the tag if the cipher has one.
    ///   - password: The password in the encoding that the scheme's `family` requires.
    ///   - limits: The maximum memory for scrypt.
    ///   - place: The position in the file, for errors.
    /// - Throws: `malformed` if no password could open the layer, `unsupportedAlgorithm` if OpenSSL lacks the cipher or
    ///   the key derivation.
    func decrypt(
        _ ciphertext: some Collection<UInt8>, password: SecretBytes, limits: PKCS12Limits, at place: String
    ) throws(PKCS12Error) -> Outcome {
        var body = Array(ciphertext)
        guard cipher.keyLength > 0 else { throw missing(nil) }
        var tag: [UInt8] = []
        if let tagLength = cipher.tagLength {
            guard body.count >= tagLength else {
                throw .malformed(place, expected: "ciphertext with a tag of \(tagLength) octets")
            }
            tag = Array(body.suffix(tagLength))
            body.removeLast(tagLength)
        }
        if cipher.blockLength > 1 {
            guard !body.isEmpty, body.count % cipher.blockLength == 0 else {
                throw .malformed(place, expected: "whole blocks of \(cipher.blockLength) octets")
            }
        }
        do {
            let (key, vector) = try keyMaterial(password: password, limits: limits)
            return try CipherOperation(cipher, key: key, vector: vector).decrypt(body, tag: tag).map(
                Outcome.opened)
                ?? .failed
        } catch {
            throw missing(error)
        }
    }

    /// Derives the key and, for PBES1, the initialization vector from a password in the encoding that `family`
    /// requires.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL lacks the key derivation.
    func keyMaterial(
        password: SecretBytes, limits: PKCS12Limits
    ) throws(OpenSSLError) -> (key: SecretBytes, vector: SecretBytes) {
        let count = cipher.keyLength
        switch derivation {
        case .pkcs12(let digest):
            let context = DigestProperties(digest)?.context ?? .legacy
            let key = try KeyDerivation.pkcs12(
                .encryptionKey, password: password, salt: salt, iterations: work, digest: digest,
                count: count, context: context)
            let vector = try KeyDerivation.pkcs12(
                .initialisationVector, password: password, salt: salt, iterations: work, digest: digest,
                count: cipher.vectorLength, context: context)
            return (key, vector)
        case .pbkdf1(let digest):
            let both = try KeyDerivation.pbkdf1(
                password: password, salt: salt, iterations: work, digest: digest,
                count: count + cipher.vectorLength, context: .legacy)
            return (both.part(0..<count), both.part(count..<both.count))
        case .pbkdf2(let digest):
            let key = try KeyDerivation.pbkdf2(
                password: password, salt: salt, iterations: work, digest: digest, count: count,
                context: DigestProperties(digest)?.context ?? .legacy)
            return (key, SecretBytes(cipher.vector ?? []))
        case .scrypt(let cost, let blockSize, let parallelization):
            let key = try KeyDerivation.scrypt(
                password: password, salt: salt, cost: cost, blockSize: blockSize,
                parallelization: parallelization, count: count, memoryLimit: limits.scryptMemory)
            return (key, SecretBytes(cipher.vector ?? []))
        }
    }

    private func missing(_ cause: OpenSSLError?) -> PKCS12Error {
        let advice =
            LibraryContext.legacy.missingProviders.isEmpty
            ? "" : " (OpenSSL's legacy provider is not installed here)"
        return PKCS12Error(
            .unsupportedAlgorithm(oid: identifier, name: name), reason: "\(name) is not supported\(advice)",
            cause: cause)
    }
}
