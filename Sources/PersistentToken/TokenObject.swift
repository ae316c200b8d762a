/// A token in PKCS #11 terms: the parts of a certificate for which PKCS #11 has attributes, and the properties of its
/// key. The module itself does not parse ASN.1.
package struct TokenObject: Sendable, Hashable {
    /// The public key.
    package enum Key: Sendable, Hashable {
        /// Modulus and exponent, most significant byte first, without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The curve as `ECParameters` and the point as an `OCTET STRING`, both in DER.
        case ec(parameters: [UInt8], point: [UInt8])
    }

    /// The identifier of the token's object (`kSecAttrTokenOID`).
    package var objectID: String
    /// A unique name in the list: type and common name, and for older certificates also the beginning of the serial
    /// number.
    package var label: String
    /// The SHA-1 of the public key (`kSecAttrApplicationLabel`).
    package var keyID: [UInt8]
    /// The certificate in DER.
    package var certificate: [UInt8]
    /// The subject's name in DER.
    package var subject: [UInt8]
    /// The issuer's name in DER.
    package var issuer: [UInt8]
    /// The serial number as an `INTEGER` in DER.
    package var serialNumber: [UInt8]
    /// The `SubjectPublicKeyInfo` in DER.
    package var publicKeyInfo: [UInt8]
    /// The first three bytes of the SHA-1 of the certificate.
    package var checkValue: [UInt8]
    /// When the certificate's validity period begins, in milliseconds since 1970.
    package var notBefore: Int64
    /// When the certificate's validity period ends, in milliseconds since 1970.
    package var notAfter: Int64
    /// The public key.
    package var key: Key
    /// The size of the key in bits.
    package var keyBits: Int
    /// The operations that the key permits.
    package var properties: TokenKeyProperties
    /// Whether the key exists.
    package var hasKey: Bool
    /// Whether the certificate belongs to an authority.
    package var isAuthority: Bool
    /// Whether each use of the key requires its own login (`CKA_ALWAYS_AUTHENTICATE`).
    package var asksAlways: Bool

    /// Creates an object; by default, its key does not require a login for each use.
    package init(
        objectID: String, label: String, keyID: [UInt8], certificate: [UInt8], subject: [UInt8],
        issuer: [UInt8], serialNumber: [UInt8], publicKeyInfo: [UInt8], checkValue: [UInt8],
        notBefore: Int64, notAfter: Int64, key: Key, keyBits: Int, properties: TokenKeyProperties,
        hasKey: Bool, isAuthority: Bool, asksAlways: Bool = false
    ) {
        self.objectID = objectID
        self.label = label
        self.keyID = keyID
        self.certificate = certificate
        self.subject = subject
        self.issuer = issuer
        self.serialNumber = serialNumber
        self.publicKeyInfo = publicKeyInfo
        self.checkValue = checkValue
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.key = key
        self.keyBits = keyBits
        self.properties = properties
        self.hasKey = hasKey
        self.isAuthority = isAuthority
        self.asksAlways = asksAlways
    }
}

/// One page of the list of token objects.
package struct TokenObjectPage: Sendable, Hashable {
    /// A number that grows whenever a token is registered or removed, or a key is deleted. Pages with different numbers
    /// do not belong to the same list.
    package var changeCount: UInt64
    /// The EDIPI or common name of the person whose certificates all tokens have; empty if there are several persons.
    package var holder: String
    /// The objects, in the order of registration.
    package var objects: [TokenObject]
    /// The cursor for the next page; nil on the last page.
    package var nextCursor: String?

    /// Creates a page of objects.
    package init(changeCount: UInt64, holder: String, objects: [TokenObject], nextCursor: String?) {
        self.changeCount = changeCount
        self.holder = holder
        self.objects = objects
        self.nextCursor = nextCursor
    }
}
