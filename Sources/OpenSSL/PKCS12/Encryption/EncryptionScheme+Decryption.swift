internal import SecretMemory

extension EncryptionScheme {
    /// What trying one password on a layer gave.
    enum Outcome {
        /// The plaintext; that the padding is right is one chance in 256 under a wrong password.
        case opened(SecretBytes)
        /// The password, or the data, is not right.
        case failed
    }

    /// Decrypts `ciphertext` under a password that is already in the form of this scheme's family.
    ///
    /// - Throws: `malformed` where no password could ever open it, `unsupportedAlgorithm` where OpenSSL lacks
    ///   something.
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

    /// Key and initialisation vector from the password.
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
