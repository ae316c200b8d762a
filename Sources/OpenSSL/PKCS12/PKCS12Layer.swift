/// The encryption of one layer of a file, in parts for programs and as a readable ``description``.
package struct PKCS12Layer: Sendable, Hashable {
    /// A function that derives a key from a password. Digests have their usual names, such as `SHA-256`.
    package enum Derivation: Sendable, Hashable {
        /// The derivation of RFC 7292, B.2.
        case pkcs12(digest: String)
        /// PBKDF1 (RFC 8018, 5.1).
        case pbkdf1(digest: String)
        /// PBKDF2 (RFC 8018, 5.2).
        case pbkdf2(digest: String)
        /// scrypt (RFC 7914).
        case scrypt
    }

    /// The layer's place in the file, such as `safe 1` or `safe 2, bag 1`.
    package let place: String
    /// The dotted identifier of the scheme: PBES2, or a scheme of RFC 7292 or PKCS #5 v1.5.
    package let scheme: String
    /// The key derivation.
    package let derivation: Derivation
    /// OpenSSL's name of the cipher, such as `AES-256-CBC`.
    package let cipher: String
    /// Whether the cipher's identifier in the file specifies an AES key size other than `keyLength`, as in old files of
    /// NSS.
    package let isMislabelled: Bool
    /// The size of the cipher's key, in octets.
    package let keyLength: Int
    /// The iterations of the derivation; for scrypt the number of calls to its core function.
    package let iterations: Int
    /// The size of the derivation's salt, in octets.
    package let saltLength: Int
    /// The scheme's name: `PBES2`, or the name of a scheme of RFC 7292 or PKCS #5 v1.5.
    package let schemeName: String
    /// The encryption in readable form, such as `PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048`.
    package let description: String
}

/// An encrypted layer with a scheme that OpenSSL lacks.
package struct PKCS12UnknownScheme: Sendable, Hashable {
    /// The layer's place in the file, such as `safe 1` or `safe 2, bag 1`.
    package let place: String
    /// The scheme in readable form, such as `PBES2 with 1.2.3`.
    package let name: String
}

/// The form of the password that opened a file.
package struct PKCS12PasswordForm: Sendable, Hashable {
    /// The encoding of the password for the MAC, or for the first layer of a file without a MAC.
    package let encoding: PasswordEncoding
    /// Whether the password is all ASCII. This includes an empty or absent password.
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
        isMislabelled = scheme.cipher.labelledName != nil
        keyLength = scheme.cipher.keyLength
        saltLength = scheme.salt.count
        schemeName = scheme.identifier == OID.pbes2 ? "PBES2" : scheme.name
        iterations = scheme.work
        description = scheme.description
    }
}
