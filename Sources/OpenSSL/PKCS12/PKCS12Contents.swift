/// Everything that was found in a PKCS #12 file.
package struct PKCS12Contents: Sendable {
    /// Every private key with a certificate for it. A key with several certificates is in as many identities.
    package var identities: [PKCS12Identity] = []
    /// Certificates that no private key of the file belongs to, in the order of the file.
    package var certificateEntries: [PKCS12CertificateEntry] = []
    /// Private keys without a certificate.
    package var keys: [PKCS12Key] = []
    /// Private keys of a kind that this OpenSSL cannot use, or that would take too much work to load.
    package var unknownKeys: [PKCS12UnknownKey] = []
    /// Private keys that do not open, in a file whose password is otherwise right: under a password of their own,
    /// or damaged, which cannot be told apart.
    package var lockedKeys: [PKCS12LockedKey] = []
    /// Private keys that open and are no PrivateKeyInfo.
    package var unreadableKeys: [PKCS12UnreadableBag] = []
    /// Certificates that could not be read.
    package var unreadableCertificates: [PKCS12UnreadableBag] = []
    /// Bags that are neither key nor X.509 certificate.
    package var otherBags: [PKCS12OtherBag] = []
    /// How many X.509 certificates the file has, those of identities and unreadable ones included.
    package var certificateCount = 0
    /// How many private keys the file has, of whatever kind and each as often as it stands there.
    package var keyCount = 0
    /// How many of them lie in the clear (keyBag).
    package var plainKeyCount = 0
    /// How many safes the file has, and how many safe contents inside safes.
    package var safeCount = 0
    package var nestedSafeCount = 0
    /// How many friendly names and localKeyIDs have no value or several.
    package var oddAttributeCount = 0
    /// The MAC; nil where the file has none.
    package var mac: MACInfo?
    /// The encrypted layers, in the order in which they were met; those of unknown schemes are not among them.
    package var layers: [PKCS12Layer] = []
    /// The encryption of the other layers, such as `PBES2 with 1.2.3`.
    package var unknownSchemes: [String] = []
    /// The form of the password that opened the file; nil where none did or none was needed.
    package var passwordForm: PKCS12PasswordForm?
    /// The encryption schemes of the file's layers, each once, in the order of the file.
    package var encryption: [String] = []
    /// What is unusual about the file and no error.
    package var notes: [PKCS12Note] = []

    /// Certificates that no private key of the file belongs to.
    package var certificates: [Certificate] { certificateEntries.map(\.certificate) }
    /// Keys whose certificate, by localKeyID, is for another key.
    package var mismatchedKeys: [PKCS12Key] { keys.filter(\.isMismatched) }
}

/// A private key and a certificate for it.
package struct PKCS12Identity: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// Its private key.
    package let privateKey: PrivateKey
    /// The name that the file gives the certificate, else the key.
    package let friendlyName: String?
    /// The octets that tie key and certificate together in the file.
    package let localKeyID: [UInt8]?
    /// Attributes of key and certificate beyond these two.
    package let attributes: [PKCS12Attribute]
    /// The certificate's SHA-256, upper-case hexadecimal.
    package var label: String { certificate.label }
}

/// A certificate that stands alone in the file.
package struct PKCS12CertificateEntry: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The name that the file gives it.
    package let friendlyName: String?
    /// Its localKeyID.
    package let localKeyID: [UInt8]?
    /// Whether Java's attribute marks it as a trust anchor.
    package let isTrusted: Bool
    /// Attributes beyond these.
    package let attributes: [PKCS12Attribute]
}

/// A private key that stands alone in the file.
package struct PKCS12Key: Sendable {
    /// The key.
    package let privateKey: PrivateKey
    /// The name that the file gives it.
    package let friendlyName: String?
    /// Its localKeyID.
    package let localKeyID: [UInt8]?
    /// The file's certificates that have the same localKeyID and another public key.
    package let namedCertificates: [Certificate]
    /// Attributes beyond these.
    package let attributes: [PKCS12Attribute]
    /// Whether the file has a certificate with the same localKeyID and another public key.
    package var isMismatched: Bool { !namedCertificates.isEmpty }
}

/// A private key that was decrypted and not loaded: this OpenSSL has no use for it, or it asks for too much.
package struct PKCS12UnknownKey: Sendable, Hashable {
    /// The key's algorithm, dotted.
    package let algorithm: String
    /// A name for the algorithm.
    package let name: String
    /// Whether loading it was refused, for the work that it takes is for the key's author to choose.
    package let isRefused: Bool
    /// The name that the file gives the key.
    package let friendlyName: String?
    /// Its localKeyID.
    package let localKeyID: [UInt8]?
}

/// A private key that the file's password does not open.
package struct PKCS12LockedKey: Sendable, Hashable {
    /// Which bag it is, such as `safe 1, bag 2`.
    package let place: String
    /// Its encryption scheme.
    package let encryption: String
    /// The name that the file gives it.
    package let friendlyName: String?
    /// Its localKeyID.
    package let localKeyID: [UInt8]?
}

/// A certificate or a private key that does not parse.
package struct PKCS12UnreadableBag: Sendable, Hashable {
    /// Which bag it is, such as `safe 1, bag 2`.
    package let place: String
    /// The name that the file gives it.
    package let friendlyName: String?
}

/// A bag that is neither key nor X.509 certificate.
package struct PKCS12OtherBag: Sendable, Hashable {
    /// What it is.
    package enum Kind: Sendable, Hashable {
        /// A certificate revocation list.
        case revocationList
        /// A secret, of the type with this identifier.
        case secret(type: String)
        /// A certificate of another kind than X.509.
        case certificate(type: String)
        /// A bag of a type that RFC 7292 does not have.
        case unknown(type: String)
    }

    /// What it is.
    package let kind: Kind
    /// The name that the file gives it.
    package let friendlyName: String?
}

/// An attribute of a bag, as told to people.
package struct PKCS12Attribute: Sendable, Hashable {
    /// Its identifier, dotted.
    package let oid: String
    /// A name for it.
    package let name: String
    /// Its first value where that is text.
    package let text: String?
}

/// How a file is protected against change.
package struct MACInfo: Sendable, Hashable {
    /// The algorithm in parts. Digests are named as people do: `SHA-256`.
    package enum Scheme: Sendable, Hashable {
        /// HMAC under a key of RFC 7292, B.
        case pkcs12(digest: String)
        /// RFC 9579: the digest of the HMAC and the one inside PBKDF2.
        case pbmac1(digest: String, derivation: String)
        /// Something that is not supported.
        case unknown
    }

    /// The algorithm in parts.
    package let scheme: Scheme
    /// Such as `HMAC-SHA-256`, or `PBMAC1 HMAC-SHA-256 PBKDF2 HMAC-SHA-256`.
    package let algorithm: String
    /// Iterations as the file states them; 1 where it states none. Not positive where the file is a forgery.
    package let iterations: Int
    /// Octets of salt.
    package let saltLength: Int

    /// Describes a MAC.
    package init(scheme: Scheme, algorithm: String, iterations: Int, saltLength: Int) {
        self.scheme = scheme
        self.algorithm = algorithm
        self.iterations = iterations
        self.saltLength = saltLength
    }
}
