package import SecretMemory
internal import COpenSSL

/// An AES-256-GCM key that seals records and binds each to its place through associated data
/// (NIST SP 800-38D).
///
/// A sealed record is nonce (12 bytes), ciphertext, tag (16 bytes). Nonces are random; one key seals far
/// fewer than 2³² records, the limit for random nonces.
package struct SealingKey: Sendable {
    /// The key's size in bytes.
    package static let byteCount = 32

    private static let nonceCount = 12
    private static let tagCount = 16
    private let key: SecretBytes

    /// Takes 32 bytes of key.
    ///
    /// - Throws: `OpenSSLError` for any other size.
    package init(_ key: SecretBytes) throws(OpenSSLError) {
        guard key.count == Self.byteCount else {
            throw OpenSSLError(operation: "taking a sealing key of \(key.count) bytes", queue: [])
        }
        self.key = key
    }

    /// A sealed copy of `plaintext` that opens only under the same `associatedData`.
    ///
    /// - Throws: `OpenSSLError` when the random source or the cipher fails.
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

    /// The plaintext of `sealed`, or nil when key, associated data or bytes are not the ones it was sealed with.
    ///
    /// The three cannot be told apart, by design of the mode.
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
