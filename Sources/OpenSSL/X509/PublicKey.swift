internal import COpenSSL

/// A public key as a certificate carries it: SubjectPublicKeyInfo (RFC 5280 4.1.2.7) and what it says.
///
/// Reading one does not load it, which takes OpenSSL longer than reading the whole certificate. Keys of any
/// algorithm, damaged ones too, are therefore kept; ``bits`` tells whether OpenSSL can load the key.
/// Equality is equality of the DER.
package struct PublicKey: Sendable, Hashable {
    /// The encoding of the whole SubjectPublicKeyInfo.
    package let spki: [UInt8]
    /// The kind of key, by the algorithm's object identifier and parameters.
    package let type: KeyType

    /// Whether OpenSSL is let load the key (see ``KeyBounds``).
    let isLoadable: Bool
    private let keyCount: Int

    /// A key from the DER of its SubjectPublicKeyInfo.
    ///
    /// - Throws: `malformed`, `trailingBytes`; a key that OpenSSL does not know is no error.
    package init(spki: [UInt8]) throws(CertificateError) {
        let key = unsafe try ASN1Value.decode(spki, as: "a public key") {
            unsafe DecodingContext.decode(X509_PUBKEY_it(), $0, $1)
        } free: {
            unsafe X509_PUBKEY_free($0)
        }
        defer { unsafe X509_PUBKEY_free(key) }
        unsafe self.init(reading: key)
    }

    /// Copies what a C key (`X509_PUBKEY`) holds; it stays its owner's.
    init(reading key: OpaquePointer?) {
        spki = unsafe key.map { unsafe ASN1Value.der($0) { unsafe i2d_X509_PUBKEY($0, $1) } } ?? []
        var octets: UnsafePointer<UInt8>?
        var count: CInt = 0
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        unsafe X509_PUBKEY_get0_param(nil, &octets, &count, &algorithm, key)
        keyCount = Int(count)
        type = unsafe KeyType(reading: algorithm)
        isLoadable = unsafe KeyBounds.isCheap(algorithm, spki.suffix(keyCount))
    }

    /// The key's size in bits: of the modulus, of the curve's order; 0 where OpenSSL cannot load the key
    /// or must not.
    ///
    /// Loads the key at each call, some 80 µs.
    package var bits: Int {
        unsafe withPointer { key in
            unsafe key.map { unsafe max(0, Int(EVP_PKEY_get_bits($0))) } ?? 0
        }
    }

    /// The curve of an elliptic-curve key, such as `P-256`; nil for other kinds.
    package var curve: String? {
        if case .ec(let curve) = type { curve } else { nil }
    }

    /// How many of the bits count; for every kind here the same as ``bits``. Keychains show both.
    package var effectiveBits: Int { bits }

    /// The octets of the key's BIT STRING: the part that key identifiers are made from.
    package var keyOctets: ArraySlice<UInt8> { spki.suffix(keyCount) }

    /// The SHA-1 of the BIT STRING, 20 octets (RFC 5280 4.2.1.2, method 1): the public key hash.
    package var keyIdentifier: [UInt8] { Digest.sha1(keyOctets) }

    /// A C key (`EVP_PKEY`) for the length of the call, or nil where OpenSSL cannot load it or must not.
    func withPointer<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
        guard isLoadable else { return body(nil) }
        let key = unsafe spki.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var cursor = bytes.baseAddress
            return unsafe d2i_PUBKEY_ex(
                nil, &cursor, bytes.count, LibraryContext.standard.pointer, nil)
        }
        defer { unsafe EVP_PKEY_free(key) }
        if unsafe key == nil { OpenSSLError.discardQueue() }
        return unsafe body(key)
    }
}

/// The kind of a key.
package enum KeyType: Sendable, Hashable {
    /// RSA (PKCS #1).
    case rsa
    /// Elliptic curve, by NIST's name of the curve (`P-256`), OpenSSL's where NIST has none, or its dotted
    /// object identifier; `explicit` where the key spells its parameters out.
    case ec(curve: String)
    /// EdDSA on Curve25519.
    case ed25519
    /// EdDSA on Curve448.
    case ed448
    /// Key agreement on Curve25519.
    case x25519
    /// Key agreement on Curve448.
    case x448
    /// DSA.
    case dsa
    /// Anything else: the dotted object identifier of its algorithm.
    case other(String)

    /// What people call it: `RSA`, `EC`, `Ed25519`, `ML-DSA-65`; a dotted identifier where nothing is known.
    package var name: String {
        switch self {
        case .rsa: "RSA"
        case .ec: "EC"
        case .ed25519: "Ed25519"
        case .ed448: "Ed448"
        case .x25519: "X25519"
        case .x448: "X448"
        case .dsa: "DSA"
        case .other(let identifier): ObjectIdentifierName.name(of: identifier)
        }
    }

    /// Whether keys of the two kinds can be the same key: a curve may be named or spelt out, and what is not known
    /// may be anything.
    func isLike(_ other: KeyType) -> Bool {
        switch (self, other) {
        case (.ec, .ec), (.other, _), (_, .other): true
        default: self == other
        }
    }

    /// The kind that an algorithm identifier names; it stays its owner's.
    init(reading algorithm: UnsafePointer<X509_ALGOR>?) {
        var object: OpaquePointer?
        var parametersType: CInt = 0
        var parameters: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(&object, &parametersType, &parameters, algorithm)
        switch unsafe OBJ_obj2nid(object) {
        case NID_rsaEncryption: self = .rsa
        case NID_X9_62_id_ecPublicKey where parametersType == V_ASN1_OBJECT:
            self = unsafe .ec(curve: Self.curve(parameters.map(OpaquePointer.init)))
        case NID_X9_62_id_ecPublicKey: self = .ec(curve: "explicit")
        case NID_ED25519: self = .ed25519
        case NID_ED448: self = .ed448
        case NID_X25519: self = .x25519
        case NID_X448: self = .x448
        case NID_dsa: self = .dsa
        default: self = unsafe .other(ASN1Value.dotted(object))
        }
    }

    private static func curve(_ object: OpaquePointer?) -> String {
        let identifier = unsafe OBJ_obj2nid(object)
        guard identifier != NID_undef,
            let name = unsafe EC_curve_nid2nist(identifier) ?? OBJ_nid2sn(identifier)
        else { return unsafe ASN1Value.dotted(object) }
        return unsafe String(cString: name)
    }
}
