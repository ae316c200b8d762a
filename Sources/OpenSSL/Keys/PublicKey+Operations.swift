package import SecretMemory
internal import COpenSSL

extension PublicKey {
    /// Verifies an RSA signature (RFC 8017, 8).
    ///
    /// - Parameters:
    ///   - signature: The signature.
    ///   - input: The signed input, in the form that `PrivateKey.signRSA` accepts.
    ///   - padding: The padding of the input.
    /// - Returns: Whether the signature is valid; false also if OpenSSL cannot load the key or the key is not an RSA
    ///   key.
    package func verifyRSA(_ signature: [UInt8], of input: [UInt8], padding: RSAPadding) -> Bool {
        unsafe type == .rsa && verify(signature, of: input) { unsafe padding.configure($0) }
    }

    /// Verifies an ECDSA signature (FIPS 186-4, 6.4).
    ///
    /// - Parameters:
    ///   - signature: The signature in DER (RFC 3279, 2.2.3).
    ///   - digest: The digest that was signed.
    /// - Returns: Whether the signature is valid; false also if OpenSSL cannot load the key or the key is not an
    ///   elliptic-curve key.
    package func verifyECDSA(_ signature: [UInt8], of digest: [UInt8]) -> Bool {
        guard case .ec = type else { return false }
        return unsafe verify(signature, of: digest) { _ in true }
    }

    /// Encrypts with RSA (RFC 8017, 5.1.1).
    ///
    /// - Throws: `OpenSSLError` if the key is not an RSA key, or if the plaintext is too long for the key and the
    ///   padding.
    package func encryptRSA(_ plaintext: SecretBytes, padding: RSAPadding) throws(OpenSSLError) -> [UInt8] {
        let description = "encrypting with an RSA key"
        guard type == .rsa else { throw OpenSSLError(operation: description, queue: []) }
        let result = unsafe withPointer { key in
            unsafe key.flatMap { key in
                unsafe KeyOperation.encrypt.run(key, plaintext) { unsafe padding.configure($0) }
            }
        }
        guard let result else { throw .draining(description) }
        return unsafe result.withUnsafeBytes { unsafe Array($0) }
    }

    /// Loads an elliptic-curve public key from its encoded point.
    ///
    /// - Parameters:
    ///   - curve: The name of the curve, as in `KeyType`.
    ///   - point: The point (SEC 1, 2.3.3). OpenSSL checks that it is on the curve.
    /// - Returns: The C key (`EVP_PKEY`), which the caller frees; nil if the curve or the point is invalid.
    static func key(on curve: String, point: [UInt8]) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(LibraryContext.standard.pointer, "EC", nil)
        else {
            return nil
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let parameters = ParameterList()
        parameters.append(OSSL_PKEY_PARAM_GROUP_NAME, curve)
        parameters.append(OSSL_PKEY_PARAM_PUB_KEY, SecretBytes(point))
        var key: OpaquePointer?
        let isLoaded = unsafe parameters.withUnsafeParameters { list in
            unsafe EVP_PKEY_fromdata_init(context) == 1
                && EVP_PKEY_fromdata(
                    context, &key, OSSL_KEYMGMT_SELECT_ALL_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
                    .init(mutating: list)) == 1
        }
        guard isLoaded, let key = unsafe key else {
            OpenSSLError.discardQueue()
            return nil
        }
        return unsafe key
    }

    private func verify(
        _ signature: [UInt8], of input: [UInt8], configure: (OpaquePointer) -> Bool
    ) -> Bool {
        let isRight = unsafe withPointer { key -> Bool in
            guard let key = unsafe key else { return false }
            return unsafe KeyOperation.withContext(
                for: key, start: EVP_PKEY_verify_init, configure: configure
            ) {
                unsafe EVP_PKEY_verify($0, signature, signature.count, input, input.count)
            } == 1
        }
        OpenSSLError.discardQueue()
        return isRight
    }
}
