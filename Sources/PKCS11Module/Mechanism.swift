internal import CPKCS11
internal import TokenClient

/// A digest that a mechanism names.
enum Digest: String, Sendable, CaseIterable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// The length in bytes.
    var length: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// The digest of a mechanism's number; nil for others.
    init?(mechanism: CK_MECHANISM_TYPE) {
        switch mechanism {
        case CKM_SHA_1: self = .sha1
        case CKM_SHA224: self = .sha224
        case CKM_SHA256: self = .sha256
        case CKM_SHA384: self = .sha384
        case CKM_SHA512: self = .sha512
        default: return nil
        }
    }

    /// The digest of a mask generation function; nil for others.
    init?(mask: CK_ULONG) {
        switch mask {
        case CKG_MGF1_SHA1: self = .sha1
        case CKG_MGF1_SHA224: self = .sha224
        case CKG_MGF1_SHA256: self = .sha256
        case CKG_MGF1_SHA384: self = .sha384
        case CKG_MGF1_SHA512: self = .sha512
        default: return nil
        }
    }

    /// The digest of a derivation; nil for others.
    init?(derivation: CK_ULONG) {
        switch derivation {
        case CKD_SHA1_KDF: self = .sha1
        case CKD_SHA224_KDF: self = .sha224
        case CKD_SHA256_KDF: self = .sha256
        case CKD_SHA384_KDF: self = .sha384
        case CKD_SHA512_KDF: self = .sha512
        default: return nil
        }
    }
}

/// A mechanism of the token.
struct Mechanism: Sendable {
    /// What a mechanism does.
    enum Scheme: Sendable, Equatable {
        case rsaPKCS
        case rsaRaw
        case rsaPKCSMessage(Digest)
        case pss
        case pssMessage(Digest)
        case oaep
        case ecdsa
        case ecdsaMessage(Digest)
        case ecdh(isCofactor: Bool)
    }

    let type: CK_MECHANISM_TYPE
    let name: String
    let scheme: Scheme

    private init(_ type: CK_MECHANISM_TYPE, _ name: String, _ scheme: Scheme) {
        self.type = type
        self.name = name
        self.scheme = scheme
    }

    /// All mechanisms.
    static let all = [
        Mechanism(CKM_RSA_PKCS, "RSA_PKCS", .rsaPKCS),
        Mechanism(CKM_RSA_X_509, "RSA_X_509", .rsaRaw),
        Mechanism(CKM_SHA1_RSA_PKCS, "SHA1_RSA_PKCS", .rsaPKCSMessage(.sha1)),
        Mechanism(CKM_SHA224_RSA_PKCS, "SHA224_RSA_PKCS", .rsaPKCSMessage(.sha224)),
        Mechanism(CKM_SHA256_RSA_PKCS, "SHA256_RSA_PKCS", .rsaPKCSMessage(.sha256)),
        Mechanism(CKM_SHA384_RSA_PKCS, "SHA384_RSA_PKCS", .rsaPKCSMessage(.sha384)),
        Mechanism(CKM_SHA512_RSA_PKCS, "SHA512_RSA_PKCS", .rsaPKCSMessage(.sha512)),
        Mechanism(CKM_RSA_PKCS_PSS, "RSA_PKCS_PSS", .pss),
        Mechanism(CKM_SHA1_RSA_PKCS_PSS, "SHA1_RSA_PKCS_PSS", .pssMessage(.sha1)),
        Mechanism(CKM_SHA224_RSA_PKCS_PSS, "SHA224_RSA_PKCS_PSS", .pssMessage(.sha224)),
        Mechanism(CKM_SHA256_RSA_PKCS_PSS, "SHA256_RSA_PKCS_PSS", .pssMessage(.sha256)),
        Mechanism(CKM_SHA384_RSA_PKCS_PSS, "SHA384_RSA_PKCS_PSS", .pssMessage(.sha384)),
        Mechanism(CKM_SHA512_RSA_PKCS_PSS, "SHA512_RSA_PKCS_PSS", .pssMessage(.sha512)),
        Mechanism(CKM_RSA_PKCS_OAEP, "RSA_PKCS_OAEP", .oaep),
        Mechanism(CKM_ECDSA, "ECDSA", .ecdsa),
        Mechanism(CKM_ECDSA_SHA1, "ECDSA_SHA1", .ecdsaMessage(.sha1)),
        Mechanism(CKM_ECDSA_SHA224, "ECDSA_SHA224", .ecdsaMessage(.sha224)),
        Mechanism(CKM_ECDSA_SHA256, "ECDSA_SHA256", .ecdsaMessage(.sha256)),
        Mechanism(CKM_ECDSA_SHA384, "ECDSA_SHA384", .ecdsaMessage(.sha384)),
        Mechanism(CKM_ECDSA_SHA512, "ECDSA_SHA512", .ecdsaMessage(.sha512)),
        Mechanism(CKM_ECDH1_DERIVE, "ECDH1_DERIVE", .ecdh(isCofactor: false)),
        Mechanism(CKM_ECDH1_COFACTOR_DERIVE, "ECDH1_COFACTOR_DERIVE", .ecdh(isCofactor: true)),
    ]

    /// The mechanism of a number; nil for others.
    static func named(_ type: CK_MECHANISM_TYPE) -> Mechanism? { all.first { $0.type == type } }

    /// Whether keys of RSA have the mechanism, not those of curves.
    var isForRSA: Bool {
        switch scheme {
        case .rsaPKCS, .rsaRaw, .rsaPKCSMessage, .pss, .pssMessage, .oaep: true
        case .ecdsa, .ecdsaMessage, .ecdh: false
        }
    }

    /// What a key does under the mechanism.
    var operations: [KeyUse.Operation] {
        switch scheme {
        case .rsaPKCS, .rsaRaw: [.sign, .decrypt]
        case .rsaPKCSMessage, .pss, .pssMessage, .ecdsa, .ecdsaMessage: [.sign]
        case .oaep: [.decrypt]
        case .ecdh: [.keyExchange]
        }
    }

    /// The flags of `CK_MECHANISM_INFO`.
    var flags: CK_FLAGS {
        let curve = isForRSA ? 0 : CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS
        return operations.reduce(CKF_HW | curve) { flags, operation in
            switch operation {
            case .sign: flags | CKF_SIGN
            case .decrypt: flags | CKF_DECRYPT
            case .keyExchange: flags | CKF_DERIVE
            }
        }
    }

    /// The sizes of keys in bits.
    var keySizes: ClosedRange<CK_ULONG> { isForRSA ? 1_024...16_384 : 256...384 }
}
