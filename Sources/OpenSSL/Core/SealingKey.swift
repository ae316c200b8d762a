package import SecretMemory
internal import COpenSSL

/// An AES-256-GCM key that encrypts and authenticates records (NIST SP 800-38D).
///
/// Each record is bound to associated data, such as the identifier of its database row, and cannot be opened with other
/// associated data. A sealed record consists of a nonce (12 bytes), the ciphertext and a tag (16 bytes). Nonces are
/// random, so one key may seal at most 2³² records (SP 800-38D, 8.3). A keychain seals far fewer.
package struct SealingKey: Sendable {
    /// The key's size in bytes.
    package static let byteCount = 32

    private static let nonceCount = 12
    private static let tagCount = 16
    private let key: SecretBytes

    /// Creates a key from 32 random bytes.
    ///
    /// - Throws: `OpenSSLError` if `key` does not have 32 bytes.
    package init(_ key: SecretBytes) throws(OpenSSLError) {
        guard key.count == Self.byteCount else {
            throw OpenSSLError(operation: "loading a sealing key of \(key.count) bytes", queue: [])
        }
        self.key = key
    }

    /// Encrypts `plaintext` under a new random nonce, and returns the sealed record.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to seal.
    ///   - associatedData: The bytes that the record is bound to; ``open(_:associatedData:)`` must receive equal bytes.
    /// - Throws: `OpenSSLError` if the random source or the cipher fails.
    package func seal(_ plaintext: SecretBytes, associatedData: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        let overhead = Self.nonceCount + Self.tagCount
        var sealed = [UInt8](repeating: 0, count: plaintext.count + overhead)
        let succeeded = unsafe sealed.withUnsafeMutableBytes { output -> Bool in
            guard let base = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self),
                unsafe RAND_bytes(base, CInt(Self.nonceCount)) == 1
            else { return false }
            return unsafe run(encrypting: true, nonce: base, associatedData: associatedData) { context in
                var count: CInt = 0
                let body = unsafe base + Self.nonceCount
                let updated = unsafe plaintext.withUnsafeBytes { input in
                    unsafe EVP_EncryptUpdate(
                        context, body, &count, input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        CInt(input.count))
                }
                guard updated == 1, unsafe EVP_EncryptFinal_ex(context, body + Int(count), &count) == 1 else {
                    return false
                }
                return unsafe EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_GET_TAG, CInt(Self.tagCount), body + plaintext.count) == 1
            }
        }
        guard succeeded else { throw OpenSSLError.draining("sealing a record") }
        return sealed
    }

    /// Decrypts a sealed record.
    ///
    /// - Returns: The plaintext; nil if the record was altered, is bound to other associated data, or was sealed with
    ///   another key. GCM cannot distinguish these cases.
    package func open(_ sealed: [UInt8], associatedData: [UInt8]) -> SecretBytes? {
        let count = sealed.count - Self.nonceCount - Self.tagCount
        guard count >= 0 else { return nil }
        var tag = Array(sealed.suffix(Self.tagCount))
        var succeeded = false
        let plaintext = unsafe SecretBytes(capacity: count) { output in
            succeeded = unsafe sealed.withUnsafeBufferPointer { input -> Bool in
                guard let base = input.baseAddress else { return false }
                return unsafe run(encrypting: false, nonce: base, associatedData: associatedData) { context in
                    var written: CInt = 0
                    let target = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    guard
                        unsafe EVP_DecryptUpdate(
                            context, target, &written, base + Self.nonceCount, CInt(count)) == 1,
                        unsafe EVP_CIPHER_CTX_ctrl(
                            context, EVP_CTRL_AEAD_SET_TAG, CInt(Self.tagCount), &tag) == 1
                    else { return false }
                    return unsafe EVP_DecryptFinal_ex(context, target, &written) == 1
                }
            }
            return count
        }
        guard succeeded else {
            OpenSSLError.discardQueue()
            return nil
        }
        return plaintext
    }

    /// Calls `body` with a cipher context that has the key, the nonce and the associated data.
    ///
    /// - Returns: False if the context could not be set up, or if `body` returned false.
    private func run(
        encrypting: Bool, nonce: UnsafePointer<UInt8>, associatedData: [UInt8],
        _ body: (OpaquePointer) -> Bool
    ) -> Bool {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return false }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let prepared = unsafe key.withUnsafeBytes { keyBytes in
            unsafe EVP_CipherInit_ex(
                context, EVP_aes_256_gcm(), nil, keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nonce, encrypting ? 1 : 0)
        }
        var count: CInt = 0
        guard prepared == 1,
            unsafe EVP_CipherUpdate(context, nil, &count, associatedData, CInt(associatedData.count)) == 1
        else { return false }
        return unsafe body(context)
    }
}
