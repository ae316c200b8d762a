internal import COpenSSL

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
        default: self = unsafe .other(OpenSSLASN1.dotted(object))
        }
    }

    private static func curve(_ object: OpaquePointer?) -> String {
        let identifier = unsafe OBJ_obj2nid(object)
        guard identifier != NID_undef,
            let name = unsafe EC_curve_nid2nist(identifier) ?? OBJ_nid2sn(identifier)
        else { return unsafe OpenSSLASN1.dotted(object) }
        return unsafe String(cString: name)
    }
}
