package import SecretMemory
internal import COpenSSL

/// The key derivation function of ANSI X9.63 (SEC 1, 3.6.1).
package enum X963KeyDerivation {
    /// Derives bytes from a shared secret.
    ///
    /// - Parameters:
    ///   - secret: The shared secret.
    ///   - digest: The digest algorithm on which the function is based.
    ///   - sharedInfo: Additional data that both sides know; may be empty.
    ///   - count: The number of bytes to derive, at least one.
    /// - Throws: `OpenSSLError` if OpenSSL fails, for example because `count` is 0.
    package static func derive(
        from secret: SecretBytes, digest: DigestAlgorithm, sharedInfo: [UInt8], count: Int
    ) throws(OpenSSLError) -> SecretBytes {
        let operation = "deriving a key (X9.63)"
        guard let function = unsafe EVP_KDF_fetch(LibraryContext.standard.pointer, "X963KDF", nil) else {
            throw .draining(operation)
        }
        defer { unsafe EVP_KDF_free(function) }
        let context = unsafe EVP_KDF_CTX_new(function)
        defer { unsafe EVP_KDF_CTX_free(context) }
        let parameters = ParameterList()
        parameters.append(OSSL_KDF_PARAM_DIGEST, digest.rawValue)
        parameters.append(OSSL_KDF_PARAM_KEY, secret)
        if !sharedInfo.isEmpty { parameters.append(OSSL_KDF_PARAM_INFO, SecretBytes(sharedInfo)) }
        var succeeded = false
        let derived = unsafe SecretBytes(capacity: max(0, count)) { output in
            succeeded = unsafe parameters.withUnsafeParameters { list in
                unsafe EVP_KDF_derive(
                    context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), max(0, count), list)
                    == 1
            }
            return succeeded ? count : 0
        }
        guard succeeded else { throw .draining(operation) }
        return derived
    }
}
