internal import CPKCS11
internal import KeyShareProtocol
internal import TokenClient

/// A digest algorithm that mechanisms use.
enum PKCS11Digest: String, Sendable, CaseIterable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// The module's implementation of the digest.
    var algorithm: MessageDigest.Algorithm {
        switch self {
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// The length of a digest, in bytes.
    var length: Int { algorithm.length }

    /// Finds the digest of a digest mechanism; nil for other mechanisms.
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

    /// Finds the digest of a mask generation function; nil for unknown functions.
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

    /// Finds the digest of a key derivation function; nil for unknown functions.
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
struct PKCS11Mechanism: Sendable {
    /// The algorithm of a mechanism.
    enum Scheme: Sendable, Equatable {
        case rsaPKCS
        case rsaRaw
        case rsaPKCSMessage(PKCS11Digest)
        case pss
        case pssMessage(PKCS11Digest)
        case oaep
        case ecdsa
        case ecdsaMessage(PKCS11Digest)
        case ecdh(isCofactor: Bool)
        case digest(PKCS11Digest)
    }

    let type: CK_MECHANISM_TYPE
    let name: String
    let scheme: Scheme

    private init(_ type: CK_MECHANISM_TYPE, _ name: String, _ scheme: Scheme) {
        self.type = type
        self.name = name
        self.scheme = scheme
    }

    /// All mechanisms that the token supports.
    static let all = [
        PKCS11Mechanism(CKM_RSA_PKCS, "RSA_PKCS", .rsaPKCS),
        PKCS11Mechanism(CKM_RSA_X_509, "RSA_X_509", .rsaRaw),
        PKCS11Mechanism(CKM_SHA1_RSA_PKCS, "SHA1_RSA_PKCS", .rsaPKCSMessage(.sha1)),
        PKCS11Mechanism(CKM_SHA224_RSA_PKCS, "SHA224_RSA_PKCS", .rsaPKCSMessage(.sha224)),
        PKCS11Mechanism(CKM_SHA256_RSA_PKCS, "SHA256_RSA_PKCS", .rsaPKCSMessage(.sha256)),
        PKCS11Mechanism(CKM_SHA384_RSA_PKCS, "SHA384_RSA_PKCS", .rsaPKCSMessage(.sha384)),
        PKCS11Mechanism(CKM_SHA512_RSA_PKCS, "SHA512_RSA_PKCS", .rsaPKCSMessage(.sha512)),
        PKCS11Mechanism(CKM_RSA_PKCS_PSS, "RSA_PKCS_PSS", .pss),
        PKCS11Mechanism(CKM_SHA1_RSA_PKCS_PSS, "SHA1_RSA_PKCS_PSS", .pssMessage(.sha1)),
        PKCS11Mechanism(CKM_SHA224_RSA_PKCS_PSS, "SHA224_RSA_PKCS_PSS", .pssMessage(.sha224)),
        PKCS11Mechanism(CKM_SHA256_RSA_PKCS_PSS, "SHA256_RSA_PKCS_PSS", .pssMessage(.sha256)),
        PKCS11Mechanism(CKM_SHA384_RSA_PKCS_PSS, "SHA384_RSA_PKCS_PSS", .pssMessage(.sha384)),
        PKCS11Mechanism(CKM_SHA512_RSA_PKCS_PSS, "SHA512_RSA_PKCS_PSS", .pssMessage(.sha512)),
        PKCS11Mechanism(CKM_RSA_PKCS_OAEP, "RSA_PKCS_OAEP", .oaep),
        PKCS11Mechanism(CKM_ECDSA, "ECDSA", .ecdsa),
        PKCS11Mechanism(CKM_ECDSA_SHA1, "ECDSA_SHA1", .ecdsaMessage(.sha1)),
        PKCS11Mechanism(CKM_ECDSA_SHA224, "ECDSA_SHA224", .ecdsaMessage(.sha224)),
        PKCS11Mechanism(CKM_ECDSA_SHA256, "ECDSA_SHA256", .ecdsaMessage(.sha256)),
        PKCS11Mechanism(CKM_ECDSA_SHA384, "ECDSA_SHA384", .ecdsaMessage(.sha384)),
        PKCS11Mechanism(CKM_ECDSA_SHA512, "ECDSA_SHA512", .ecdsaMessage(.sha512)),
        PKCS11Mechanism(CKM_ECDH1_DERIVE, "ECDH1_DERIVE", .ecdh(isCofactor: false)),
        PKCS11Mechanism(CKM_ECDH1_COFACTOR_DERIVE, "ECDH1_COFACTOR_DERIVE", .ecdh(isCofactor: true)),
        PKCS11Mechanism(CKM_SHA_1, "SHA_1", .digest(.sha1)),
        PKCS11Mechanism(CKM_SHA224, "SHA224", .digest(.sha224)),
        PKCS11Mechanism(CKM_SHA256, "SHA256", .digest(.sha256)),
        PKCS11Mechanism(CKM_SHA384, "SHA384", .digest(.sha384)),
        PKCS11Mechanism(CKM_SHA512, "SHA512", .digest(.sha512)),
    ]

    /// Returns the mechanism with this number; nil if the token does not support it.
    static func named(_ type: CK_MECHANISM_TYPE) -> PKCS11Mechanism? { all.first { $0.type == type } }

    /// Whether the mechanism requires an RSA key. Other mechanisms require an elliptic-curve key, or no key (digests).
    var isForRSA: Bool {
        switch scheme {
        case .rsaPKCS, .rsaRaw, .rsaPKCSMessage, .pss, .pssMessage, .oaep: true
        case .ecdsa, .ecdsaMessage, .ecdh, .digest: false
        }
    }

    /// The operations that a private key performs with the mechanism.
    var operations: [TokenOperation] {
        switch scheme {
        case .rsaPKCS, .rsaRaw: [.sign, .decrypt]
        case .rsaPKCSMessage, .pss, .pssMessage, .ecdsa, .ecdsaMessage: [.sign]
        case .oaep: [.decrypt]
        case .ecdh: [.keyExchange]
        case .digest: []
        }
    }

    /// The digest that the mechanism computes without a key; nil for mechanisms with keys.
    var digest: PKCS11Digest? {
        guard case .digest(let digest) = scheme else { return nil }
        return digest
    }

    /// The flags of `CK_MECHANISM_INFO`. Digests lack CKF_HW because the module computes them.
    var flags: CK_FLAGS {
        guard digest == nil else { return CKF_DIGEST }
        let curve = isForRSA ? 0 : CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS
        return operations.reduce(CKF_HW | curve) { flags, operation in
            switch operation {
            case .sign: flags | CKF_SIGN
            case .decrypt: flags | CKF_DECRYPT
            case .keyExchange: flags | CKF_DERIVE
            }
        }
    }

    /// The permitted key sizes in bits; 0 for digests.
    var keySizes: ClosedRange<CK_ULONG> {
        guard digest == nil else { return 0...0 }
        return isForRSA ? 1_024...16_384 : 256...384
    }
}
