package import SecretMemory
internal import COpenSSL

extension PrivateKey {
    /// Signs with RSA.
    ///
    /// - Parameters:
    ///   - input: The digest of the message. For `pkcs1(nil)`, the bytes to pad, such as an encoded digest. For `none`,
    ///     bytes that are as long as the modulus.
    ///   - padding: The signature padding. `oaep` is rejected, because it is only for encryption.
    /// - Returns: The signature, which is as long as the modulus.
    /// - Throws: `OpenSSLError` if the key is not an RSA key, or if the input's length does not fit the padding and the
    ///   key.
    package func signRSA(_ input: [UInt8], padding: RSAPadding) throws(OpenSSLError) -> [UInt8] {
        try bytes(of: .sign, SecretBytes(input), padding, "signing with an RSA key")
    }

    /// Decrypts with RSA (RFC 8017, 5.1.2).
    ///
    /// - Returns: The plaintext; nil if the decrypted block does not have this padding.
    /// - Throws: `OpenSSLError` if the key is not an RSA key or is too short for the padding.
    package func decryptRSA(_ ciphertext: [UInt8], padding: RSAPadding) throws(OpenSSLError) -> SecretBytes? {
        guard type == .rsa else {
            throw OpenSSLError(operation: "decrypting with a key that is not RSA", queue: [])
        }
        let plaintext = unsafe withPointer { key in
            unsafe KeyOperation.decrypt.run(key, SecretBytes(ciphertext)) { unsafe padding.configure($0) }
        }
        // The caller must not learn how the padding was wrong (RFC 8017, 7.1.2, step 3.g).
        OpenSSLError.discardQueue()
        return plaintext
    }

    /// Signs a digest with ECDSA (FIPS 186-4, 6.4). A digest that is longer than the curve's order is truncated.
    ///
    /// - Returns: The signature in DER (RFC 3279, 2.2.3).
    /// - Throws: `OpenSSLError` if the key does not support ECDSA.
    package func signECDSA(_ digest: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard case .ec = type else {
            throw OpenSSLError(operation: "signing by ECDSA with a key of another type", queue: [])
        }
        return try bytes(of: .sign, SecretBytes(digest), nil, "signing with an elliptic-curve key")
    }

    /// Computes the shared secret of this key and another public key on the same curve (SP 800-56A, 5.7.1.2).
    ///
    /// NIST's curves have the cofactor 1, so agreement with and without cofactor has the same result.
    ///
    /// - Parameter point: The other public key as an encoded point (SEC 1, 2.3.3).
    /// - Returns: The x coordinate of the shared point; nil if the point is not on the curve.
    /// - Throws: `OpenSSLError` if the key is not an elliptic-curve key.
    package func sharedSecret(with point: [UInt8]) throws(OpenSSLError) -> SecretBytes? {
        guard case .ec(let curve) = type else {
            throw OpenSSLError(operation: "ECDH key agreement with a key of another type", queue: [])
        }
        guard let peer = unsafe PublicKey.key(on: curve, point: point) else { return nil }
        defer { unsafe EVP_PKEY_free(peer) }
        let secret = unsafe withPointer { key in
            unsafe KeyOperation.withContext(for: key, start: EVP_PKEY_derive_init) { _ in
                true
            } _: { context -> SecretBytes? in
                var count = 0
                guard unsafe EVP_PKEY_derive_set_peer(context, peer) == 1,
                    unsafe EVP_PKEY_derive(context, nil, &count) == 1
                else { return nil }
                var succeeded = false
                let secret = unsafe SecretBytes(capacity: count) { output in
                    succeeded =
                        unsafe EVP_PKEY_derive(
                            context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &count) == 1
                    return succeeded ? count : 0
                }
                return succeeded ? secret : nil
            }
        }
        OpenSSLError.discardQueue()
        return secret
    }

    /// Performs an operation whose result is not secret.
    private func bytes(
        of operation: KeyOperation, _ input: SecretBytes, _ padding: RSAPadding?, _ description: String
    ) throws(OpenSSLError) -> [UInt8] {
        let result = unsafe withPointer { key in
            unsafe operation.run(key, input) { context in unsafe padding?.configure(context) ?? true }
        }
        guard let result else { throw .draining(description) }
        return unsafe result.withUnsafeBytes { unsafe Array($0) }
    }
}
