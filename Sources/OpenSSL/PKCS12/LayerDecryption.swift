internal import SecretMemory
internal import COpenSSL

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
            return try CipherRun(cipher, key: key, vector: vector).decrypt(body, tag: tag).map(Outcome.opened)
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
            let context = DigestTraits(digest)?.context ?? .legacy
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
                context: DigestTraits(digest)?.context ?? .legacy)
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

/// One use of a cipher with its key.
struct CipherRun {
    private let cipher: CipherChoice
    private let key: SecretBytes
    private let vector: SecretBytes

    init(_ cipher: CipherChoice, key: SecretBytes, vector: SecretBytes) {
        self.cipher = cipher
        self.key = key
        self.vector = vector
    }

    /// The plaintext, or nil where padding or tag do not fit.
    ///
    /// - Throws: `OpenSSLError` where the cipher itself cannot be set up.
    func decrypt(_ body: [UInt8], tag: [UInt8]) throws(OpenSSLError) -> SecretBytes? {
        unsafe try run(SecretBytes(body), encrypting: false) { context in
            guard !tag.isEmpty else { return true }
            var tag = tag
            return unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
        }
    }

    /// The ciphertext, for ciphers without a tag.
    ///
    /// - Throws: `OpenSSLError` where the cipher fails.
    func encrypt(_ plaintext: SecretBytes) throws(OpenSSLError) -> [UInt8] {
        let result = unsafe try run(plaintext, encrypting: true) { _ in true }
        guard let result else {
            throw .draining("encrypting with \(cipher.displayName)")
        }
        return unsafe result.withUnsafeBytes { unsafe Array($0) }
    }

    private func run(
        _ input: SecretBytes, encrypting: Bool, beforeEnd: (OpaquePointer) -> Bool
    ) throws(OpenSSLError) -> SecretBytes? {
        let operation = "setting up \(cipher.displayName)"
        guard let algorithm = unsafe EVP_CIPHER_fetch(cipher.context.pointer, cipher.fetchName, nil) else {
            throw .draining(operation)
        }
        defer { unsafe EVP_CIPHER_free(algorithm) }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .draining(operation) }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        guard unsafe setUp(context, algorithm, encrypting: encrypting) else { throw .draining(operation) }
        var succeeded = false
        let output = unsafe SecretBytes(capacity: input.count + Int(EVP_MAX_BLOCK_LENGTH)) { output in
            guard let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
            var count: CInt = 0
            var last: CInt = 0
            let updated = unsafe input.withUnsafeBytes { bytes in
                unsafe EVP_CipherUpdate(
                    context, base, &count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    CInt(bytes.count))
            }
            succeeded =
                unsafe updated == 1 && beforeEnd(context)
                && EVP_CipherFinal_ex(context, base + Int(count), &last) == 1
            return Int(count + last)
        }
        guard succeeded else {
            OpenSSLError.discardQueue()
            return nil
        }
        return output
    }

    private func setUp(_ context: OpaquePointer, _ algorithm: OpaquePointer, encrypting: Bool) -> Bool {
        let direction: CInt = encrypting ? 1 : 0
        guard unsafe EVP_CipherInit_ex(context, algorithm, nil, nil, nil, direction) == 1 else {
            return false
        }
        if cipher.tagLength != nil {
            guard
                unsafe EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_SET_IVLEN, CInt(cipher.vectorLength), nil) == 1
            else { return false }
        }
        if Int(unsafe EVP_CIPHER_CTX_get_key_length(context)) != key.count {
            guard unsafe EVP_CIPHER_CTX_set_key_length(context, CInt(key.count)) == 1 else { return false }
        }
        if let bits = cipher.effectiveKeyBits {
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_SET_RC2_KEY_BITS, CInt(bits), nil) == 1 else {
                return false
            }
        }
        return unsafe key.withUnsafeBytes { keyBytes in
            unsafe vector.withUnsafeBytes { vectorBytes in
                unsafe EVP_CipherInit_ex(
                    context, nil, nil, keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    vectorBytes.isEmpty ? nil : vectorBytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    direction) == 1
            }
        }
    }
}

extension SecretBytes {
    /// A copy of some of the bytes.
    func part(_ range: Range<Int>) -> SecretBytes {
        unsafe withUnsafeBytes { unsafe SecretBytes($0[range]) }
    }
}
