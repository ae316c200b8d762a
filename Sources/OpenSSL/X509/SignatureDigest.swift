internal import COpenSSL

/// The digest algorithm of a signature (FIPS 180-4).
package enum SignatureDigest: String, Sendable, Hashable, CaseIterable {
    /// SHA-1, which is broken. Test certificates need it, because old certificates are signed with it.
    case sha1
    /// SHA-256.
    case sha256
    /// SHA-384.
    case sha384
    /// SHA-512.
    case sha512

    /// The standard digest for a key: SHA-384 for P-384, SHA-512 for P-521, and SHA-256 for other keys.
    ///
    /// - Returns: Nil for EdDSA, which has a digest built in (RFC 8032).
    package static func standard(for type: KeyType) -> SignatureDigest? {
        switch type {
        case .ed25519, .ed448: nil
        case .ec(curve: "P-384"): .sha384
        case .ec(curve: "P-521"): .sha512
        default: .sha256
        }
    }
}

extension SignatureDigest {
    /// The C digest (`EVP_MD`), a constant of OpenSSL that is never freed.
    var pointer: OpaquePointer? {
        let algorithm: DigestAlgorithm =
            switch self {
            case .sha1: .sha1
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
        return unsafe algorithm.pointer
    }
}
