package import SecretMemory
internal import COpenSSL

/// AES in Galois/Counter Mode (NIST SP 800-38D) with an initialisation vector of any length, for data in memory.
package enum AESGCM {
    /// The length of a tag, in bytes.
    package static let tagCount = 16

    /// Encrypts `plaintext`, and appends an authentication tag.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt.
    ///   - key: The AES key, of 16, 24 or 32 bytes.
    ///   - vector: The initialisation vector. Never use a vector twice with the same key.
    ///   - associatedData: Additional data that the tag authenticates but that is not encrypted.
    /// - Returns: The ciphertext, followed by the tag.
    /// - Throws: `OpenSSLError` if the key has another length.
    package static func seal(
        _ plaintext: SecretBytes, key: SecretBytes, vector: [UInt8], associatedData: [UInt8]
    ) throws(OpenSSLError) -> [UInt8] {
        let operation = "encrypting with AES-GCM"
        var sealed = [UInt8](repeating: 0, count: plaintext.count + tagCount)
        let succeeded = unsafe sealed.withUnsafeMutableBytes { output -> Bool in
            guard let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return false
            }
            return unsafe withContext(key, vector, associatedData, encrypting: true) { context in
                var count: CInt = 0
                let isUpdated = unsafe plaintext.withUnsafeBytes { bytes in
                    unsafe EVP_CipherUpdate(
                        context, base, &count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        CInt(clamping: bytes.count))
                }
                return unsafe isUpdated == 1 && EVP_CipherFinal_ex(context, base + Int(count), &count) == 1
                    && EVP_CIPHER_CTX_ctrl(
                        context, EVP_CTRL_AEAD_GET_TAG, CInt(tagCount), base + plaintext.count) == 1
            }
        }
        guard succeeded else { throw .draining(operation) }
        return sealed
    }

    /// Decrypts a ciphertext that is followed by its tag.
    ///
    /// - Returns: The plaintext; nil if the tag does not match.
    /// - Throws: `OpenSSLError` if the key has a length that AES does not support.
    package static func open(
        _ sealed: ArraySlice<UInt8>, key: SecretBytes, vector: [UInt8], associatedData: [UInt8]
    ) throws(OpenSSLError) -> SecretBytes? {
        guard [16, 24, 32].contains(key.count) else {
            throw OpenSSLError(operation: "decrypting with an AES key of \(key.count) bytes", queue: [])
        }
        guard sealed.count >= tagCount else { return nil }
        let ciphertext = Array(sealed.dropLast(tagCount))
        var tag = Array(sealed.suffix(tagCount))
        var succeeded = false
        let plaintext = unsafe SecretBytes(capacity: ciphertext.count) { output in
            succeeded = unsafe withContext(key, vector, associatedData, encrypting: false) { context in
                var count: CInt = 0
                let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_CipherUpdate(
                    context, base, &count, ciphertext, CInt(clamping: ciphertext.count)) == 1
                    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tagCount), &tag) == 1
                    && EVP_CipherFinal_ex(context, base.map { unsafe $0 + Int(count) }, &count) == 1
            }
            return ciphertext.count
        }
        OpenSSLError.discardQueue()
        return succeeded ? plaintext : nil
    }

    /// Calls `body` with a cipher context in which the key, the vector and the associated data are set.
    ///
    /// - Returns: False if the context could not be set up, or if `body` returned false.
    private static func withContext(
        _ key: SecretBytes, _ vector: [UInt8], _ associatedData: [UInt8], encrypting: Bool,
        _ body: (OpaquePointer) -> Bool
    ) -> Bool {
        let cipher: OpaquePointer?
        switch key.count {
        case 16: unsafe cipher = EVP_aes_128_gcm()
        case 24: unsafe cipher = EVP_aes_192_gcm()
        case 32: unsafe cipher = EVP_aes_256_gcm()
        default: return false
        }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return false }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let direction: CInt = encrypting ? 1 : 0
        guard unsafe EVP_CipherInit_ex(context, cipher, nil, nil, nil, direction) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, CInt(clamping: vector.count), nil)
                == 1
        else { return false }
        let isReady = unsafe key.withUnsafeBytes { bytes in
            unsafe EVP_CipherInit_ex(
                context, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), vector, direction)
        }
        var count: CInt = 0
        guard isReady == 1,
            unsafe EVP_CipherUpdate(
                context, nil, &count, associatedData, CInt(clamping: associatedData.count)) == 1
        else { return false }
        return unsafe body(context)
    }
}
