internal import SecretMemory
internal import COpenSSL

/// A cipher with its key and initialization vector, which encrypts or decrypts one layer.
struct CipherOperation {
    private let cipher: CipherSpec
    private let key: SecretBytes
    private let vector: SecretBytes

    init(_ cipher: CipherSpec, key: SecretBytes, vector: SecretBytes) {
        self.cipher = cipher
        self.key = key
        self.vector = vector
    }

    /// Decrypts `body`. Returns nil if the padding or the tag is wrong.
    ///
    /// - Throws: `OpenSSLError` if the cipher itself cannot be set up.
    func decrypt(_ body: [UInt8], tag: [UInt8]) throws(OpenSSLError) -> SecretBytes? {
        unsafe try run(SecretBytes(body), encrypting: false) { context in
            guard !tag.isEmpty else { return true }
            var tag = tag
            return unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
        }
    }

    /// Encrypts `plaintext` with a cipher that has no tag.
    ///
    /// - Throws: `OpenSSLError` if the cipher fails.
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
