internal import COpenSSL

/// The digest algorithms SHA-1 and SHA-2 (FIPS 180-4), for operations with keys.
package enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// The length of a digest, in bytes.
    package var byteCount: Int { unsafe pointer.map { unsafe Int(EVP_MD_get_size($0)) } ?? 0 }

    /// OpenSSL's description of the algorithm (`EVP_MD`), which is a constant and is never freed.
    var pointer: OpaquePointer? {
        switch self {
        case .sha1: unsafe EVP_sha1()
        case .sha224: unsafe EVP_sha224()
        case .sha256: unsafe EVP_sha256()
        case .sha384: unsafe EVP_sha384()
        case .sha512: unsafe EVP_sha512()
        }
    }
}

/// Computes a digest of bytes that arrive in parts.
///
/// Not `Sendable`: only one caller may use it.
@safe package final class DigestStream {
    private let context: OpaquePointer?

    /// Begins a digest.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL rejects the algorithm.
    package init(_ algorithm: DigestAlgorithm) throws(OpenSSLError) {
        unsafe context = EVP_MD_CTX_new()
        guard unsafe EVP_DigestInit_ex(context, algorithm.pointer, nil) == 1 else {
            throw .draining("beginning a digest (\(algorithm.rawValue))")
        }
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Adds the next bytes.
    ///
    /// - Throws: `OpenSSLError` after ``finish()``.
    package func update(_ bytes: some Collection<UInt8>) throws(OpenSSLError) {
        let result =
            unsafe bytes.withContiguousStorageIfAvailable {
                unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count)
            }
            ?? Array(bytes).withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        guard result == 1 else { throw .draining("digesting") }
    }

    /// Returns the digest of all bytes. No bytes can be added afterwards.
    ///
    /// - Throws: `OpenSSLError` if the digest was already returned.
    package func finish() throws(OpenSSLError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: CUnsignedInt = 0
        guard unsafe EVP_DigestFinal_ex(context, &digest, &count) == 1 else {
            throw .draining("ending a digest")
        }
        return Array(digest.prefix(Int(count)))
    }
}
