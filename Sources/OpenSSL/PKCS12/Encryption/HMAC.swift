package import SecretMemory
internal import COpenSSL

/// HMAC (RFC 2104) in one call.
package enum HMAC {
    /// The HMAC-SHA-256 of `message` under `key`, 32 octets.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL fails.
    package static func sha256(
        _ message: [UInt8], key: SecretBytes
    ) throws(OpenSSLError) -> [UInt8] {
        let code = try authenticate(message, key: key, digest: "SHA2-256", context: .standard)
        return unsafe code.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// The HMAC of `message` under `key`.
    ///
    /// - Parameters:
    ///   - digest: OpenSSL's name of the digest.
    ///   - context: The providers that have the digest.
    /// - Throws: `OpenSSLError` if the providers lack the digest.
    static func authenticate(
        _ message: some Collection<UInt8>, key: SecretBytes, digest: String, context: LibraryContext
    ) throws(OpenSSLError) -> SecretBytes {
        let message = Array(message)
        var count = 0
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        let succeeded = unsafe key.withUnsafeBytes { keyBytes in
            unsafe EVP_Q_mac(
                context.pointer, "HMAC", nil, digest, nil, keyBytes.baseAddress, keyBytes.count, message,
                message.count, &result, result.count, &count) != nil
        }
        guard succeeded else { throw .draining("computing HMAC-\(digest)") }
        return SecretBytes(result.prefix(count))
    }
}
