internal import COpenSSL

/// One-shot digests of byte strings in memory.
package enum Digest {
    /// The SHA-256 of `bytes` (FIPS 180-4), 32 octets.
    package static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        unsafe digest(bytes, count: 32) { unsafe SHA256($0, $1, $2) }
    }

    /// The SHA-1 of `bytes` (FIPS 180-4), 20 octets. Used for key identifiers only (RFC 5280, 4.2.1.2).
    package static func sha1(_ bytes: some Collection<UInt8>) -> [UInt8] {
        unsafe digest(bytes, count: 20) { unsafe SHA1($0, $1, $2) }
    }

    private static func digest(
        _ bytes: some Collection<UInt8>, count: Int,
        _ compute: (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?) -> UnsafeMutablePointer<UInt8>?
    ) -> [UInt8] {
        let input = Array(bytes)
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            unsafe input.withUnsafeBufferPointer { bytes in
                unsafe _ = compute(bytes.baseAddress, bytes.count, output.baseAddress)
            }
            initialized = count
        }
    }
}

/// The SHA-256 (FIPS 180-4) of bytes that arrive in parts.
@safe package final class SHA256Stream {
    private let context = unsafe EVP_MD_CTX_new()

    /// Creates a digest of no bytes.
    package init() { unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds `bytes` to the digested data.
    package func update(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer {
            unsafe _ = EVP_DigestUpdate(context, $0.baseAddress, $0.count)
        }
    }

    /// Returns the digest, 32 octets. No bytes can be added afterwards.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe EVP_DigestFinal_ex(context, &digest, nil)
        return digest
    }
}
