/// How one layer of a file is encrypted, in parts, for code that judges it; ``description`` is for people.
package struct PKCS12Layer: Sendable, Hashable {
    /// From password to key. Digests are named as people do: `SHA-256`.
    package enum Derivation: Sendable, Hashable {
        /// RFC 7292, B.
        case pkcs12(digest: String)
        /// RFC 8018, 5.1.
        case pbkdf1(digest: String)
        /// RFC 8018, 5.2.
        case pbkdf2(digest: String)
        /// RFC 7914.
        case scrypt
    }

    /// Which layer it is, such as `safe 1` or `safe 2, bag 1`.
    package let place: String
    /// The dotted identifier of the scheme: one of RFC 7292's or PKCS #5's own, or PBES2's.
    package let scheme: String
    /// From password to key.
    package let derivation: Derivation
    /// OpenSSL's name of the cipher, such as `AES-256-CBC`.
    package let cipher: String
    /// Octets of the cipher's key.
    package let keyLength: Int
    /// Iterations of the derivation; with scrypt the calls of its core.
    package let iterations: Int
    /// Such as `PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048`.
    package let description: String
}

/// What opened a file.
package struct PKCS12PasswordForm: Sendable, Hashable {
    /// How its bytes were taken for the MAC, or for the first layer of a file without one.
    package let encoding: PasswordEncoding
    /// Whether it is all ASCII; so are the empty and the absent password.
    package let isASCII: Bool
}

extension PKCS12Layer {
    init(_ scheme: EncryptionScheme, at place: String) {
        self.place = place
        self.scheme = scheme.identifier
        derivation =
            switch scheme.derivation {
            case .pkcs12(let digest): .pkcs12(digest: DigestName.display(digest))
            case .pbkdf1(let digest): .pbkdf1(digest: DigestName.display(digest))
            case .pbkdf2(let digest): .pbkdf2(digest: DigestName.display(digest))
            case .scrypt: .scrypt
            }
        cipher = scheme.cipher.displayName
        keyLength = scheme.cipher.keyLength
        iterations = scheme.work
        description = scheme.description
    }
}
