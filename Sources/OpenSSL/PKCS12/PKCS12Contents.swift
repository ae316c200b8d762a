/// The contents of a PKCS #12 file.
package struct PKCS12Contents: Sendable {
    /// The private keys with their certificates. A key with several certificates makes as many identities.
    package var identities: [PKCS12Identity] = []
    /// The certificates without a private key, in the order of the file.
    package var certificateEntries: [PKCS12CertificateEntry] = []
    /// The private keys without a certificate.
    package var keys: [PKCS12Key] = []
    /// The private keys of an algorithm that this OpenSSL lacks, and those that would take too much work to load.
    package var unknownKeys: [PKCS12UnknownKey] = []
    /// The private keys that do not open in a file whose password is right elsewhere. They have a password of their own or
    /// are damaged, which cannot be told apart.
    package var lockedKeys: [PKCS12LockedKey] = []
    /// The private keys that open and are no PrivateKeyInfo.
    package var unreadableKeys: [PKCS12UnreadableBag] = []
    /// The certificates that cannot be parsed.
    package var unreadableCertificates: [PKCS12UnreadableBag] = []
    /// The bags that are neither a key nor an X.509 certificate.
    package var otherBags: [PKCS12OtherBag] = []
    /// The number of X.509 certificates, those of identities and unreadable ones included.
    package var certificateCount = 0
    /// The number of private keys of every kind; a key that stands in the file twice counts twice.
    package var keyCount = 0
    /// The number of private keys in the clear (keyBag).
    package var plainKeyCount = 0
    /// The number of safes.
    package var safeCount = 0
    /// The number of private keys that have no localKeyID, or one that no certificate of the file has.
    package var untiedKeyCount = 0
    /// The number of safe contents inside safe contents.
    package var nestedSafeCount = 0
    /// The number of private keys in safe contents that are inside others.
    package var nestedKeyCount = 0
    /// The number of X.509 certificates in safe contents that are inside others.
    package var nestedCertificateCount = 0
    /// The number of friendly names and localKeyIDs that have no value or several.
    package var oddAttributeCount = 0
    /// The MAC; nil where the file has none.
    package var mac: MACInfo?
    /// The encrypted layers whose schemes are known, in the order in which they were met.
    package var layers: [PKCS12Layer] = []
    /// The schemes of the other encrypted layers, such as `PBES2 with 1.2.3`.
    package var unknownSchemes: [String] = []
    /// The form of the password that opened the file; nil where none did, and where none was needed.
    package var passwordForm: PKCS12PasswordForm?
    /// The encryption schemes of all layers in words, each once, in the order of the file.
    package var encryption: [String] = []
    /// The notes on what is unusual and no error.
    package var notes: [PKCS12Note] = []

    /// The certificates without a private key.
    package var certificates: [Certificate] { certificateEntries.map(\.certificate) }
    /// The keys whose localKeyID names a certificate for another key.
    package var mismatchedKeys: [PKCS12Key] { keys.filter(\.isMismatched) }
}

extension PKCS12Contents {
    /// The identities, of which there must be at least one.
    ///
    /// - Throws: `keyMismatch` where a certificate is for another key, `malformed` where a key is damaged or has a password
    ///   of its own, `unsupportedAlgorithm` where OpenSSL lacks the key's algorithm, `refused` where loading the key would
    ///   take too much work, otherwise `noIdentity`.
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

    /// The reasons why not everything in the file can be imported: keys that do not match their certificate, keys that
    /// stay closed, and the lack of any identity.
    package var obstacles: [PKCS12Error] {
        do {
            _ = try requireIdentities()
        } catch {
            return [error]
        }
        return mismatchedKeys.map { _ in PKCS12Error(.keyMismatch) } + closedKeys
    }

    /// An error for each key that does not open or cannot be parsed. The password is not to blame: it was accepted
    /// elsewhere, or is not needed.
    private var closedKeys: [PKCS12Error] {
        unreadableKeys.map { .malformed($0.place, expected: "a private key") }
            + lockedKeys.map { .unopened($0.place) }
    }
}

/// A private key and a certificate for it.
package struct PKCS12Identity: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The private key whose public half the certificate holds.
    package let privateKey: PrivateKey
    /// The certificate's friendly name; where it has none, the key's.
    package let friendlyName: String?
    /// The octets that tie key and certificate together in the file.
    package let localKeyID: [UInt8]?
    /// The attributes of key and certificate beyond friendly name and localKeyID.
    package let attributes: [PKCS12Attribute]
    /// The SHA-256 of the certificate in upper-case hexadecimal, by which identities are listed.
    package var label: String { certificate.label }
}

/// A certificate without a private key in the file.
package struct PKCS12CertificateEntry: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The friendly name; nil where the bag has none.
    package let friendlyName: String?
    /// The localKeyID; nil where the bag has none.
    package let localKeyID: [UInt8]?
    /// Whether Java's attribute marks the certificate as a trust anchor.
    package let isTrusted: Bool
    /// The further attributes of the bag.
    package let attributes: [PKCS12Attribute]
}

/// A private key without a certificate in the file.
package struct PKCS12Key: Sendable {
    /// The key.
    package let privateKey: PrivateKey
    /// The friendly name; nil where the bag has none.
    package let friendlyName: String?
    /// The localKeyID; nil where the bag has none.
    package let localKeyID: [UInt8]?
    /// The certificates of the file that have this key's localKeyID and another public key.
    package let namedCertificates: [Certificate]
    /// The further attributes of the bag.
    package let attributes: [PKCS12Attribute]
    /// Whether a certificate of the file has this key's localKeyID and another public key.
    package var isMismatched: Bool { !namedCertificates.isEmpty }
}

/// A private key that was decrypted and not loaded: this OpenSSL lacks its algorithm, or loading it takes too much work.
package struct PKCS12UnknownKey: Sendable, Hashable {
    /// The algorithm of the key, as a dotted identifier.
    package let algorithm: String
    /// The algorithm's name for people; the dotted identifier where it has none.
    package let name: String
    /// Whether loading was refused because the key's author chooses how much work it takes.
    package let isRefused: Bool
    /// The friendly name; nil where the bag has none.
    package let friendlyName: String?
    /// The localKeyID; nil where the bag has none.
    package let localKeyID: [UInt8]?
}

/// A private key that the file's password does not open.
package struct PKCS12LockedKey: Sendable, Hashable {
    /// The bag's place in the file, such as `safe 1, bag 2`.
    package let place: String
    /// The encryption scheme in words.
    package let encryption: String
    /// The friendly name; nil where the bag has none.
    package let friendlyName: String?
    /// The localKeyID; nil where the bag has none.
    package let localKeyID: [UInt8]?
}

/// A certificate or a private key that cannot be parsed.
package struct PKCS12UnreadableBag: Sendable, Hashable {
    /// The bag's place in the file, such as `safe 1, bag 2`.
    package let place: String
    /// The friendly name; nil where the bag has none.
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
        /// A certificate of another kind than X.509.
        case certificate(type: String)
        /// A bag of a type that RFC 7292 does not have.
        case unknown(type: String)
    }

    /// The kind of bag.
    package let kind: Kind
    /// The friendly name; nil where the bag has none.
    package let friendlyName: String?
}

/// An attribute of a bag, as a report shows it.
package struct PKCS12Attribute: Sendable, Hashable {
    /// The type of the attribute, as a dotted identifier.
    package let oid: String
    /// The type's name for people; the dotted identifier where it has none.
    package let name: String
    /// The first value, where that is text.
    package let text: String?
}

/// The MAC that protects a file against change, as a report shows it.
package struct MACInfo: Sendable, Hashable {
    /// The algorithm in parts. Digests have their usual names, such as `SHA-256`.
    package enum Scheme: Sendable, Hashable {
        /// HMAC under a key that is derived as RFC 7292, B.2, says.
        case pkcs12(digest: String)
        /// PBMAC1 (RFC 9579), with the digest of the HMAC and the digest inside PBKDF2.
        case pbmac1(digest: String, derivation: String)
        /// An algorithm that is not supported.
        case unknown
    }

    /// The algorithm in parts.
    package let scheme: Scheme
    /// The algorithm in words, such as `HMAC-SHA-256`, or `PBMAC1 HMAC-SHA-256 PBKDF2 HMAC-SHA-256`.
    package let algorithm: String
    /// The iterations that the file states; 1 where it states none. A forged file may state zero or fewer.
    package let iterations: Int
    /// The size of the salt, in octets.
    package let saltLength: Int

    /// Describes a MAC by its parts.
    package init(scheme: Scheme, algorithm: String, iterations: Int, saltLength: Int) {
        self.scheme = scheme
        self.algorithm = algorithm
        self.iterations = iterations
        self.saltLength = saltLength
    }
}
