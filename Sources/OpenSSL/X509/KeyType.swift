internal import COpenSSL

/// The kind of a public or private key, by its algorithm and, for elliptic curves, its curve.
package enum KeyType: Sendable, Hashable {
    /// RSA (RFC 8017).
    case rsa
    /// An elliptic curve (RFC 5480). `curve` is NIST's name (`P-256`), otherwise OpenSSL's (`brainpoolP256r1`),
    /// otherwise a dotted object identifier. It is `explicit` if the key contains the curve's parameters instead of a
    /// name.
    case ec(curve: String)
    /// EdDSA on Curve25519 (RFC 8410).
    case ed25519
    /// EdDSA on Curve448 (RFC 8410).
    case ed448
    /// Key agreement on Curve25519 (RFC 8410).
    case x25519
    /// Key agreement on Curve448 (RFC 8410).
    case x448
    /// DSA (FIPS 186-4).
    case dsa
    /// Any other algorithm, by its dotted object identifier.
    case other(String)

    /// The display name: `RSA`, `EC`, `Ed25519`, `ML-DSA-65`, or a dotted object identifier.
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

    /// Whether a key of this type can equal a key of the type `other`.
    ///
    /// One key may name its curve, and the other may contain the curve's parameters. A key of an unknown type may equal
    /// any key.
    func isLike(_ other: KeyType) -> Bool {
        switch (self, other) {
        case (.ec, .ec), (.other, _), (_, .other): true
        default: self == other
        }
    }

    /// Finds the type that an `AlgorithmIdentifier` names. The caller still owns the identifier.
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
