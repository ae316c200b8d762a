/// The contents of a PKCS #12 file.
package struct PKCS12Contents: Sendable {
    /// The private keys with their certificates: one identity for each certificate, even if several share a key.
    package var identities: [PKCS12Identity] = []
    /// The certificates without a private key, in the order of the file.
    package var certificateEntries: [PKCS12CertificateEntry] = []
    /// The private keys without a certificate.
    package var keys: [PKCS12Key] = []
    /// The private keys that were not loaded because OpenSSL lacks the algorithm or loading would require too much
    /// work.
    package var unknownKeys: [PKCS12UnknownKey] = []
    /// The private keys that the password does not decrypt, although it is correct for another part of the file. They
    /// have a different password or are damaged; the two cases cannot be distinguished.
    package var lockedKeys: [PKCS12LockedKey] = []
    /// The private keys that were decrypted but are not a PrivateKeyInfo.
    package var unreadableKeys: [PKCS12UnreadableBag] = []
    /// The certificates that cannot be parsed.
    package var unreadableCertificates: [PKCS12UnreadableBag] = []
    /// The bags that are neither a key nor an X.509 certificate.
    package var otherBags: [PKCS12OtherBag] = []
    /// The number of X.509 certificates, including those of identities and unreadable ones.
    package var certificateCount = 0
    /// The number of private keys of every kind, including duplicates.
    package var keyCount = 0
    /// The number of private keys in the clear (keyBag).
    package var plainKeyCount = 0
    /// The number of safes.
    package var safeCount = 0
    /// The number of private keys without a localKeyID, or with one that no certificate of the file has.
    package var untiedKeyCount = 0
    /// The bags of private keys and X.509 certificates, in the order of the file, with the attributes that link them.
    package var linkedBags: [PKCS12LinkedBag] = []
    /// The number of SafeContents that are nested in other SafeContents.
    package var nestedSafeCount = 0
    /// The number of private keys in nested safe contents.
    package var nestedKeyCount = 0
    /// The number of X.509 certificates in nested safe contents.
    package var nestedCertificateCount = 0
    /// The number of friendly names and localKeyIDs that have no value or several values.
    package var oddAttributeCount = 0
    /// The MAC; nil for a file without a MAC.
    package var mac: MACInfo?
    /// The encrypted layers with known schemes, in the order in which they were read.
    package var layers: [PKCS12Layer] = []
    /// The schemes of the other encrypted layers.
    package var unknownSchemes: [PKCS12UnknownScheme] = []
    /// The places of the decrypted safes that contain private keys but no certificate, such as `safe 1`.
    package var keySafes: Set<String> = []
    /// The form of the password that opened the file; nil if no form did, or if no password was needed.
    package var passwordForm: PKCS12PasswordForm?
    /// The encryption schemes of all layers in readable form, without duplicates, in the order of the file.
    package var encryption: [String] = []
    /// Unusual properties of the file that are not errors.
    package var notes: [PKCS12Note] = []

    /// The certificates without a private key.
    package var certificates: [Certificate] { certificateEntries.map(\.certificate) }
    /// The keys with a localKeyID that belongs to the certificate of another key.
    package var mismatchedKeys: [PKCS12Key] { keys.filter(\.isMismatched) }
}

extension PKCS12Contents {
    /// Returns the identities if there is at least one.
    ///
    /// - Throws: `keyMismatch` if a certificate is for another key, `malformed` if a key is damaged or has a different
    ///   password, `unsupportedAlgorithm` if OpenSSL lacks the key's algorithm, `refused` if loading the key would
    ///   require too much work, otherwise `noIdentity`.
    package func requireIdentities() throws(PKCS12Error) -> [PKCS12Identity] {
        guard identities.isEmpty else { return identities }
        if !mismatchedKeys.isEmpty { throw PKCS12Error(.keyMismatch) }
        if let error = closedKeys.first { throw error }
        if let key = unknownKeys.first {
            if key.isRefused { throw .refused(.keyLoading) }
            throw PKCS12Error(.unsupportedAlgorithm(oid: key.algorithm, name: key.name))
        }
        throw PKCS12Error(.noIdentity)
    }

    /// The reasons why the file cannot be imported completely: keys that do not match their certificate, keys that do
    /// not open, or a file without an identity.
    package var obstacles: [PKCS12Error] {
        do {
            _ = try requireIdentities()
        } catch {
            return [error]
        }
        return mismatchedKeys.map { _ in PKCS12Error(.keyMismatch) } + closedKeys
    }

    /// An error for each key that cannot be decrypted or parsed. The password is not the cause: another part of the
    /// file accepted it, or the file needs none.
    private var closedKeys: [PKCS12Error] {
        unreadableKeys.map { .malformed($0.place, expected: "a private key") }
            + lockedKeys.map { .unopened($0.place, underMAC: mac != nil) }
    }
}

/// A private key and a certificate for it.
package struct PKCS12Identity: Sendable {
    /// The certificate, which contains the public half of the private key.
    package let certificate: Certificate
    /// The private key that belongs to the certificate.
    package let privateKey: PrivateKey
    /// The friendly name of the certificate or, if absent, of the key.
    package let friendlyName: String?
    /// The octets (localKeyID) that link the key and the certificate in the file.
    package let localKeyID: [UInt8]?
    /// The attributes of key and certificate except friendly name and localKeyID.
    package let attributes: [PKCS12Attribute]
    /// The SHA-256 of the certificate in upper-case hexadecimal, which identifies the identity in lists.
    package var label: String { certificate.label }
}

/// A certificate without a private key in the file.
package struct PKCS12CertificateEntry: Sendable {
    /// The certificate in the bag.
    package let certificate: Certificate
    /// The bag's friendly name, if any.
    package let friendlyName: String?
    /// The bag's localKeyID, if any.
    package let localKeyID: [UInt8]?
    /// Whether Java's attribute marks the certificate as a trust anchor.
    package let isTrusted: Bool
    /// The other attributes of the bag.
    package let attributes: [PKCS12Attribute]
}

/// A private key without a certificate in the file.
package struct PKCS12Key: Sendable {
    /// The private key in the bag.
    package let privateKey: PrivateKey
    /// The bag's friendly name, if any.
    package let friendlyName: String?
    /// The bag's localKeyID, if any.
    package let localKeyID: [UInt8]?
    /// The certificates of the file with this key's localKeyID but another public key.
    package let namedCertificates: [Certificate]
    /// The other attributes of the bag.
    package let attributes: [PKCS12Attribute]
    /// Whether a certificate of the file has this key's localKeyID but another public key.
    package var isMismatched: Bool { !namedCertificates.isEmpty }
}

/// A private key that was decrypted but not loaded: OpenSSL lacks its algorithm, or loading would require too much
/// work.
package struct PKCS12UnknownKey: Sendable, Hashable {
    /// The algorithm of the key, as a dotted identifier.
    package let algorithm: String
    /// The readable name of the algorithm, or the dotted identifier.
    package let name: String
    /// Whether the key was not loaded because loading would require too much work. The key's author determines the
    /// work.
    package let isRefused: Bool
    /// The bag's friendly name, if any.
    package let friendlyName: String?
    /// The bag's localKeyID, if any.
    package let localKeyID: [UInt8]?
    /// Whether the key has version 1 (RFC 5958, 2), which OpenSSL 3.0 does not read.
    package var isVersion1 = false
}

/// A private key that the file's password does not decrypt.
package struct PKCS12LockedKey: Sendable, Hashable {
    /// The bag's place in the file, such as `safe 1, bag 2`.
    package let place: String
    /// The encryption scheme in readable form.
    package let encryption: String
    /// The bag's friendly name, if any.
    package let friendlyName: String?
    /// The bag's localKeyID, if any.
    package let localKeyID: [UInt8]?
}

/// A certificate or a private key that cannot be parsed.
package struct PKCS12UnreadableBag: Sendable, Hashable {
    /// The bag's place in the file, such as `safe 1, bag 2`.
    package let place: String
    /// The bag's friendly name, if any.
    package let friendlyName: String?
}

/// A bag that is neither key nor X.509 certificate.
package struct PKCS12OtherBag: Sendable, Hashable {
    /// The kind of bag.
    package enum Kind: Sendable, Hashable {
        /// A certificate revocation list.
        case revocationList
        /// A secret, of the type with this identifier.
        case secret(type: String)
        /// A certificate that is not X.509.
        case certificate(type: String)
        /// A bag of a type that RFC 7292 does not define.
        case unknown(type: String)
    }

    /// The kind of bag.
    package let kind: Kind
    /// The bag's friendly name, if any.
    package let friendlyName: String?
}

/// The attributes of a bag that link a private key with its certificate. The pairing of this package does not depend on
/// them; that of other readers does.
package struct PKCS12LinkedBag: Sendable, Hashable {
    /// The content of the bag.
    package enum Kind: Sendable, Hashable {
        /// A private key in the clear (keyBag).
        case plainKey
        /// An encrypted private key (pkcs8ShroudedKeyBag).
        case shroudedKey
        /// An X.509 certificate; `isTrusted` if Java's attribute marks it as a trust anchor.
        case certificate(isTrusted: Bool)
    }

    /// The content of the bag.
    package let kind: Kind
    /// The bag's place in the file, such as `safe 1, bag 2`.
    package let place: String
    /// The bag's friendly name, if any.
    package let friendlyName: String?
    /// The bag's localKeyID, if any.
    package let localKeyID: [UInt8]?
}

/// An attribute of a bag as shown in a report.
package struct PKCS12Attribute: Sendable, Hashable {
    /// The type of the attribute, as a dotted identifier.
    package let oid: String
    /// The readable name of the type, or the dotted identifier.
    package let name: String
    /// The first value, if it is text.
    package let text: String?
}

/// The MAC that protects a file against change, as shown in a report.
package struct MACInfo: Sendable, Hashable {
    /// The MAC algorithm and its digests, by their usual names, such as `SHA-256`.
    package enum Scheme: Sendable, Hashable {
        /// HMAC with a key that is derived according to RFC 7292, B.2.
        case pkcs12(digest: String)
        /// PBMAC1 (RFC 9579), with the digest of the HMAC and the digest inside PBKDF2.
        case pbmac1(digest: String, derivation: String)
        /// An algorithm that is not supported.
        case unknown
    }

    /// The algorithm and its digests.
    package let scheme: Scheme
    /// The algorithm in readable form, such as `HMAC-SHA-256`, or `PBMAC1 HMAC-SHA-256 PBKDF2 HMAC-SHA-256`.
    package let algorithm: String
    /// The iterations in the file, or the default of 1. A forged file may contain zero or a negative number.
    package let iterations: Int
    /// The size of the salt, in octets.
    package let saltLength: Int

    /// Creates a description of a MAC from its parts.
    package init(scheme: Scheme, algorithm: String, iterations: Int, saltLength: Int) {
        self.scheme = scheme
        self.algorithm = algorithm
        self.iterations = iterations
        self.saltLength = saltLength
    }
}
