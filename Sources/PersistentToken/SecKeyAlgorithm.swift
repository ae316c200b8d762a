package import KeyShareProtocol
/// A digest algorithm (FIPS 180-4). The raw values are parts of the names of key algorithms.
package enum SecKeyDigest: String, Sendable, Hashable, CaseIterable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// The length of a digest, in bytes.
    package var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// The input of a signature algorithm.
package enum SignatureInput: String, Sendable, Hashable, CaseIterable {
    /// The message, which is digested as part of the operation.
    case message
    /// The digest of the message.
    case digest
}

/// An algorithm of a key, as the Security framework names it (`SecKeyAlgorithm`).
///
/// The 76 algorithms are those of Apple's `SecKey.h` as of iOS 14: 34 for RSA and 42 for elliptic curves.
/// ``identifier`` is the value of the framework's constant, ``name`` its name without `kSecKeyAlgorithm`.
package enum SecKeyAlgorithm: Sendable, Hashable {
    /// RSA signature of bytes that are left-padded with zeros (RFC 8017, 5.2.1).
    case rsaSignatureRaw
    /// RSASSA-PKCS1-v1_5 without the digest's identifier: the padding is followed directly by the input.
    case rsaSignatureDigestPKCS1v15Raw
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2).
    case rsaSignaturePKCS1v15(SignatureInput, SecKeyDigest)
    /// RSASSA-PSS (RFC 8017, 8.1) with a salt as long as the digest, and MGF1 with the same digest.
    case rsaSignaturePSS(SignatureInput, SecKeyDigest)
    /// RSA encryption of bytes that are left-padded with zeros (RFC 8017, 5.1.1).
    case rsaEncryptionRaw
    /// RSAES-PKCS1-v1_5 (RFC 8017, 7.2).
    case rsaEncryptionPKCS1
    /// RSAES-OAEP (RFC 8017, 7.1) with an empty label, and MGF1 with the digest that is also used for the label.
    case rsaEncryptionOAEP(SecKeyDigest)
    /// A session key encrypted with RSAES-OAEP, and the data encrypted with AES-GCM under that key.
    case rsaEncryptionOAEPAESGCM(SecKeyDigest)
    /// ECDSA of a digest. The signature consists of its two concatenated integers (RFC 4754).
    case ecdsaSignatureRFC4754
    /// ECDSA of a digest of any length; the signature is DER (ANSI X9.62).
    case ecdsaSignatureDigestX962Raw
    /// ECDSA; the signature is DER (ANSI X9.62).
    case ecdsaSignatureX962(SignatureInput, SecKeyDigest)
    /// Key agreement (SP 800-56A, 5.7.1.2). The result is the shared secret, or the output of the key derivation
    /// function of ANSI X9.63.
    case ecdhKeyExchange(isCofactor: Bool, SecKeyDigest?)
    /// ECIES: an ephemeral key agreement, the key derivation function of X9.63, and AES-GCM. If `hasVariableIV` is
    /// true, the initialization vector is also derived; otherwise it is zero.
    case eciesEncryption(isCofactor: Bool, SecKeyDigest, hasVariableIV: Bool)
}

extension SecKeyAlgorithm: CaseIterable {
    /// All algorithms, in the order of Apple's header within each family. The order never changes.
    package static let allCases: [SecKeyAlgorithm] = rsaSignatures + rsaEncryptions + ecdsa + ecies + ecdh

    private static let rsaSignatures: [SecKeyAlgorithm] =
        [.rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw]
        + each { .rsaSignaturePKCS1v15(.digest, $0) } + each { .rsaSignaturePKCS1v15(.message, $0) }
        + each { .rsaSignaturePSS(.digest, $0) } + each { .rsaSignaturePSS(.message, $0) }

    private static let rsaEncryptions: [SecKeyAlgorithm] =
        [.rsaEncryptionRaw, .rsaEncryptionPKCS1]
        + each { .rsaEncryptionOAEP($0) } + each { .rsaEncryptionOAEPAESGCM($0) }

    private static let ecdsa: [SecKeyAlgorithm] =
        [.ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw]
        + each { .ecdsaSignatureX962(.digest, $0) } + each { .ecdsaSignatureX962(.message, $0) }

    private static let ecies: [SecKeyAlgorithm] =
        [false, true].flatMap { isCofactor in
            each { .eciesEncryption(isCofactor: isCofactor, $0, hasVariableIV: false) }
        }
        + [false, true].flatMap { isCofactor in
            // The header defines no algorithm with a variable initialisation vector and SHA-1.
            each { .eciesEncryption(isCofactor: isCofactor, $0, hasVariableIV: true) }.dropFirst()
        }

    private static let ecdh: [SecKeyAlgorithm] = [false, true].flatMap { isCofactor in
        [.ecdhKeyExchange(isCofactor: isCofactor, nil)]
            + each { .ecdhKeyExchange(isCofactor: isCofactor, $0) }
    }

    private static func each(_ make: (SecKeyDigest) -> SecKeyAlgorithm) -> [SecKeyAlgorithm] {
        SecKeyDigest.allCases.map(make)
    }
}

extension SecKeyAlgorithm {
    /// The kinds of keys.
    package enum KeyFamily: String, Sendable, Hashable { case rsa = "RSA", ec = "EC" }

    /// The kind of key that the algorithm requires.
    package var family: KeyFamily {
        switch self {
        case .rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaSignaturePKCS1v15, .rsaSignaturePSS,
            .rsaEncryptionRaw, .rsaEncryptionPKCS1, .rsaEncryptionOAEP, .rsaEncryptionOAEPAESGCM:
            .rsa
        case .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw, .ecdsaSignatureX962, .ecdhKeyExchange,
            .eciesEncryption:
            .ec
        }
    }

    /// The operation that the private key performs with the algorithm.
    package var operation: TokenOperation {
        switch self {
        case .rsaSignatureRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaSignaturePKCS1v15, .rsaSignaturePSS,
            .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw, .ecdsaSignatureX962:
            .sign
        case .rsaEncryptionRaw, .rsaEncryptionPKCS1, .rsaEncryptionOAEP, .rsaEncryptionOAEPAESGCM,
            .eciesEncryption:
            .decrypt
        case .ecdhKeyExchange: .keyExchange
        }
    }

    /// The digest of the algorithm's message or input; nil if the algorithm uses the bytes unchanged.
    package var digest: SecKeyDigest? {
        switch self {
        case .rsaSignaturePKCS1v15(_, let digest), .rsaSignaturePSS(_, let digest),
            .ecdsaSignatureX962(_, let digest):
            digest
        default: nil
        }
    }

    /// Whether the algorithm's input is a message of any length, which it digests itself.
    package var takesMessage: Bool {
        switch self {
        case .rsaSignaturePKCS1v15(.message, _), .rsaSignaturePSS(.message, _),
            .ecdsaSignatureX962(.message, _):
            true
        default: false
        }
    }

    /// The variant that signs a digest instead of a message; the algorithm itself if there is no such variant.
    package var takingDigest: SecKeyAlgorithm {
        switch self {
        case .rsaSignaturePKCS1v15(.message, let digest): .rsaSignaturePKCS1v15(.digest, digest)
        case .rsaSignaturePSS(.message, let digest): .rsaSignaturePSS(.digest, digest)
        case .ecdsaSignatureX962(.message, let digest): .ecdsaSignatureX962(.digest, digest)
        default: self
        }
    }

    /// The name of the constant in the Security framework, without the prefix `kSecKeyAlgorithm`:
    /// `RSASignatureMessagePSSSHA256`.
    package var name: String {
        switch self {
        case .rsaSignatureRaw: "RSASignatureRaw"
        case .rsaSignatureDigestPKCS1v15Raw: "RSASignatureDigestPKCS1v15Raw"
        case .rsaSignaturePKCS1v15(let input, let digest):
            "RSASignature\(input.capitalized)PKCS1v15\(digest.rawValue)"
        case .rsaSignaturePSS(let input, let digest): "RSASignature\(input.capitalized)PSS\(digest.rawValue)"
        case .rsaEncryptionRaw: "RSAEncryptionRaw"
        case .rsaEncryptionPKCS1: "RSAEncryptionPKCS1"
        case .rsaEncryptionOAEP(let digest): "RSAEncryptionOAEP\(digest.rawValue)"
        case .rsaEncryptionOAEPAESGCM(let digest): "RSAEncryptionOAEP\(digest.rawValue)AESGCM"
        case .ecdsaSignatureRFC4754: "ECDSASignatureRFC4754"
        case .ecdsaSignatureDigestX962Raw: "ECDSASignatureDigestX962"
        case .ecdsaSignatureX962(let input, let digest):
            "ECDSASignature\(input.capitalized)X962\(digest.rawValue)"
        case .ecdhKeyExchange(let isCofactor, let digest):
            "ECDHKeyExchange\(isCofactor ? "Cofactor" : "Standard")"
                + (digest.map { "X963" + $0.rawValue } ?? "")
        case .eciesEncryption(let isCofactor, let digest, let hasVariableIV):
            "ECIESEncryption\(isCofactor ? "Cofactor" : "Standard")\(hasVariableIV ? "VariableIV" : "")"
                + "X963\(digest.rawValue)AESGCM"
        }
    }

    /// The value of the constant in the Security framework, such as `algid:sign:RSA:message-PSS:SHA256:SHA256:32`.
    ///
    /// The PSS identifiers with SHA-224 end with 24 in the framework, although the salt has 28 bytes.
    package var identifier: String {
        switch self {
        case .rsaSignatureRaw: "algid:sign:RSA:raw"
        case .rsaSignatureDigestPKCS1v15Raw: "algid:sign:RSA:digest-PKCS1v15"
        case .rsaSignaturePKCS1v15(let input, let digest):
            "algid:sign:RSA:\(input.rawValue)-PKCS1v15:\(digest.rawValue)"
        case .rsaSignaturePSS(let input, let digest):
            "algid:sign:RSA:\(input.rawValue)-PSS:\(digest.rawValue):\(digest.rawValue):"
                + "\(digest == .sha224 ? 24 : digest.byteCount)"
        case .rsaEncryptionRaw: "algid:encrypt:RSA:raw"
        case .rsaEncryptionPKCS1: "algid:encrypt:RSA:PKCS1"
        case .rsaEncryptionOAEP(let digest): "algid:encrypt:RSA:OAEP:\(digest.rawValue)"
        case .rsaEncryptionOAEPAESGCM(let digest): "algid:encrypt:RSA:OAEP:\(digest.rawValue):AESGCM"
        case .ecdsaSignatureRFC4754: "algid:sign:ECDSA:RFC4754"
        case .ecdsaSignatureDigestX962Raw: "algid:sign:ECDSA:digest-X962"
        case .ecdsaSignatureX962(let input, let digest):
            "algid:sign:ECDSA:\(input.rawValue)-X962:\(digest.rawValue)"
        case .ecdhKeyExchange(let isCofactor, let digest):
            "algid:keyexchange:\(Self.agreement(isCofactor))"
                + (digest.map { ":KDFX963:" + $0.rawValue } ?? "")
        case .eciesEncryption(let isCofactor, let digest, let hasVariableIV):
            "algid:encrypt:ECIES:\(Self.agreement(isCofactor)):KDFX963:\(digest.rawValue):"
                + (hasVariableIV ? "AESGCM-KDFIV" : "AESGCM")
        }
    }

    /// Finds an algorithm by its name, with or without the prefix `kSecKeyAlgorithm`, or by its identifier; nil if
    /// no algorithm has that name.
    package init?(named text: String) {
        let prefix = "kSecKeyAlgorithm"
        let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        guard let algorithm = Self.byName[name] else { return nil }
        self = algorithm
    }

    private static let byName: [String: SecKeyAlgorithm] = allCases.reduce(into: [:]) { found, algorithm in
        found[algorithm.name] = algorithm
        found[algorithm.identifier] = algorithm
    }

    private static func agreement(_ isCofactor: Bool) -> String { isCofactor ? "ECDHC" : "ECDH" }
}

extension SignatureInput {
    /// The capitalized word in the name of a constant.
    fileprivate var capitalized: String { self == .message ? "Message" : "Digest" }
}
