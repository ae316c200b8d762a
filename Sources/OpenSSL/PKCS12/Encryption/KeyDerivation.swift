internal import SecretMemory
internal import COpenSSL

/// Functions that derive keys from passwords. They use `FastKeyDerivation` for the digests of nearly every file, and
/// EVP_KDF for everything else.
enum KeyDerivation {
    /// The use of a derived key. The raw values are the diversifier IDs of RFC 7292, B.3.
    enum Purpose: UInt64 {
        case encryptionKey = 1
        case initialisationVector = 2
        case integrityKey = 3
    }

    /// The derivation of RFC 7292, B.2.
    ///
    /// - Parameters:
    ///   - purpose: The use of the key.
    ///   - password: The password, as a BMPString with a terminator.
    ///   - digest: OpenSSL's name of the digest.
    ///   - count: The length of the key in octets.
    ///   - context: The providers that have the digest.
    /// - Throws: `OpenSSLError` if the providers lack the digest.
    static func pkcs12(
        _ purpose: Purpose, password: SecretBytes, salt: [UInt8], iterations: Int, digest: String, count: Int,
        context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        if count == 0 { return SecretBytes([]) }
        if let fast = FastKeyDerivation(digest: digest) {
            return fast.pkcs12(
                purpose: UInt8(purpose.rawValue), password: password, salt: salt, iterations: iterations,
                count: count)
        }
        let parameters = ParameterList()
        parameters.append("pass", password)
        parameters.append("salt", SecretBytes(salt))
        parameters.append("iter", UInt64(iterations))
        parameters.append("id", purpose.rawValue)
        parameters.append("digest", digest)
        return try derive("PKCS12KDF", parameters, count: count, context: context)
    }

    /// PBKDF1 (RFC 8018, 5.1), which the schemes of PKCS #5 v1.5 use.
    ///
    /// - Throws: `OpenSSLError` if the providers lack the digest or PBKDF1, which is in the legacy provider.
    static func pbkdf1(
        password: SecretBytes, salt: [UInt8], iterations: Int, digest: String, count: Int,
        context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        let parameters = ParameterList()
        parameters.append("pass", password)
        parameters.append("salt", SecretBytes(salt))
        parameters.append("iter", UInt64(iterations))
        parameters.append("digest", digest)
        return try derive("PBKDF1", parameters, count: count, context: context)
    }

    /// PBKDF2 with an HMAC of `digest` (RFC 8018, 5.2).
    ///
    /// - Throws: `OpenSSLError` if the providers lack the digest.
    static func pbkdf2(
        password: SecretBytes, salt: [UInt8], iterations: Int, digest: String, count: Int,
        context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        if count == 0 { return SecretBytes([]) }
        if let fast = FastKeyDerivation(digest: digest) {
            return fast.pbkdf2(password: password, salt: salt, iterations: iterations, count: count)
        }
        let parameters = ParameterList()
        parameters.append("pass", password)
        parameters.append("salt", SecretBytes(salt))
        parameters.append("iter", UInt64(iterations))
        parameters.append("digest", digest)
        return try derive("PBKDF2", parameters, count: count, context: context)
    }

    /// scrypt (RFC 7914, 6).
    ///
    /// - Parameter memoryLimit: The maximum memory of the derivation, in bytes.
    /// - Throws: `OpenSSLError` for parameters above the limit.
    static func scrypt(
        password: SecretBytes, salt: [UInt8], cost: Int, blockSize: Int, parallelization: Int, count: Int,
        memoryLimit: Int
    ) throws(OpenSSLError) -> SecretBytes {
        let parameters = ParameterList()
        parameters.append("pass", password)
        parameters.append("salt", SecretBytes(salt))
        parameters.append("n", UInt64(cost))
        parameters.append("r", UInt64(blockSize))
        parameters.append("p", UInt64(parallelization))
        parameters.append("maxmem_bytes", UInt64(memoryLimit))
        return try derive("SCRYPT", parameters, count: count, context: .standard)
    }

    private static func derive(
        _ name: String, _ parameters: ParameterList, count: Int, context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        guard count > 0 else { return SecretBytes([]) }
        let operation = "deriving a key with \(name)"
        guard let algorithm = unsafe EVP_KDF_fetch(context.pointer, name, nil) else {
            throw .draining(operation)
        }
        defer { unsafe EVP_KDF_free(algorithm) }
        guard let state = unsafe EVP_KDF_CTX_new(algorithm) else { throw .draining(operation) }
        defer { unsafe EVP_KDF_CTX_free(state) }
        var succeeded = false
        let key = unsafe SecretBytes(capacity: count) { output in
            succeeded = unsafe parameters.withUnsafeParameters { list in
                unsafe EVP_KDF_derive(
                    state, output.baseAddress?.assumingMemoryBound(to: UInt8.self), count, list) == 1
            }
            return count
        }
        guard succeeded else { throw .draining(operation) }
        return key
    }
}
