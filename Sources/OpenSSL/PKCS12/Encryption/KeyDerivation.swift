internal import SecretMemory
internal import COpenSSL

/// Key derivations: those that everyone uses on OpenSSL's compression functions, the rest through EVP_KDF.
enum KeyDerivation {
    /// What the key of RFC 7292, B.3 is for.
    enum Purpose: UInt64 {
        case encryptionKey = 1
        case initialisationVector = 2
        case integrityKey = 3
    }

    /// RFC 7292, B.2.
    static func pkcs12(
        _ purpose: Purpose, password: SecretBytes, salt: [UInt8], iterations: Int, digest: String, count: Int,
        context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        if count == 0 { return SecretBytes([]) }
        if let loop = FastKeyDerivation(digest: digest) {
            return loop.pkcs12(
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

    /// RFC 8018, 5.1.
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

    /// RFC 8018, 5.2.
    static func pbkdf2(
        password: SecretBytes, salt: [UInt8], iterations: Int, digest: String, count: Int,
        context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        if count == 0 { return SecretBytes([]) }
        if let loop = FastKeyDerivation(digest: digest) {
            return loop.pbkdf2(password: password, salt: salt, iterations: iterations, count: count)
        }
        let parameters = ParameterList()
        parameters.append("pass", password)
        parameters.append("salt", SecretBytes(salt))
        parameters.append("iter", UInt64(iterations))
        parameters.append("digest", digest)
        return try derive("PBKDF2", parameters, count: count, context: context)
    }

    /// RFC 7914.
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
