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
    /// The object's name, which is unique in the list: type and common name, and for older certificates also the
    /// beginning of the serial number.
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
    /// The start of the certificate's validity period, in milliseconds since 1970 UTC.
    package var notBefore: Int64
    /// The end of the certificate's validity period, in milliseconds since 1970 UTC.
    package var notAfter: Int64
    /// The public key.
    package var key: Key
    /// The size of the key in bits.
    package var keyBits: Int
    /// The operations that the key permits.
    package var properties: TokenKeyProperties
    /// Whether the private key exists. It is deleted with the device's passcode.
    package var hasKey: Bool
    /// Whether the certificate is that of a certification authority.
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

/// A page of the list of all tokens' objects.
package struct TokenObjectPage: Sendable, Hashable {
    /// A number that grows whenever a token is registered or removed, or a key is deleted. Pages with different numbers
    /// do not belong to the same list.
    package var changeCount: UInt64
    /// The EDIPI or common name of the person, if the certificates of all tokens belong to one person; otherwise empty.
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
