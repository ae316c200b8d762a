import Foundation
import KeySharing
import OpenSSL

/// A public key with its size. The size is stored because each access to ``PublicKey/bits`` loads the key.
struct LintedKey: Sendable {
    let key: PublicKey
    let bits: Int

    init(_ key: PublicKey) {
        self.key = key
        bits = key.bits
    }

    var type: KeyType { key.type }
    /// The size of an RSA key in bits; 0 for other keys.
    var rsaBits: Int { key.type == .rsa ? bits : 0 }
}

/// Rules about a public key, either separate or in a certificate.
enum KeyRules {
    typealias Rule = LintRule<LintedKey>

    static let all: [Rule] = [
        Rule(
            "public-key-malformed", .error, "RFC 5280 4.1.2.7", "the public key cannot be loaded",
            if: { KeyFacts.isKnown($0.type) && $0.bits == 0 }),
        Rule(
            "public-key-parameters", .error, "RFC 3279 2.3.1, RFC 5480 2.1.1",
            "the parameters of the key's algorithm must be NULL for RSA, a named curve for EC and absent for EdDSA",
            if: { KeyFacts.hasWrongParameters($0.key) }),
        Rule(
            "weak-rsa-key", .error, "NIST SP 800-57-1 5.6.1, SP 800-78-5 3.1",
            "the RSA key has fewer than 2,048 bits",
            message: {
                let bits = $0.rsaBits
                return (1..<2_048).contains(bits) ? "the RSA key has \(bits) bits, fewer than 2,048" : nil
            }),
        Rule(
            "rsa-key-size", .warning, "FIPS 186-5 5.1",
            "the size of the RSA key is not a multiple of 256 bits",
            message: {
                let bits = $0.rsaBits
                return bits >= 2_048 && !bits.isMultiple(of: 256)
                    ? "the RSA key has \(bits) bits, which is not a multiple of 256" : nil
            }),
        Rule(
            "weak-rsa-exponent", .error, "FIPS 186-5 A.1.1",
            "the public exponent of the RSA key is even or less than 65,537",
            if: { $0.type == .rsa && $0.key.hasWeakRSAExponent }),
        Rule(
            "rsa-exponent-large", .warning, "FIPS 186-5 A.1.1",
            "the public exponent of the RSA key has more than 256 bits",
            if: { KeyFacts.rsa($0.key).map { $0.exponent.count > 32 } ?? false }),
        Rule(
            "rsa-modulus-even", .error, "FIPS 186-5 A.1", "the modulus of the RSA key is even",
            if: { KeyFacts.rsa($0.key).flatMap(\.modulus.last)?.isMultiple(of: 2) ?? false }),
        Rule(
            "curve-not-approved", .warning, "NIST SP 800-78-5 3.1", "the curve is neither P-256 nor P-384",
            message: {
                guard case .ec(let curve) = $0.type, !["P-256", "P-384"].contains(curve) else { return nil }
                return "the curve \(curve) is neither P-256 nor P-384"
            }),
        Rule(
            "key-type-obsolete", .warning, "FIPS 186-5 4",
            "the key is a DSA key; DSA is no longer approved for signing",
            if: { $0.type == .dsa }),
    ]
}

/// Properties of public keys and key types.
enum KeyFacts {
    static func rsa(_ key: PublicKey) -> (modulus: [UInt8], exponent: [UInt8])? {
        guard key.type == .rsa, case .rsa(let modulus, let exponent) = key.parts else { return nil }
        return (modulus, exponent)
    }

    /// Whether OpenSSL can load keys of this type.
    static func isKnown(_ type: KeyType) -> Bool {
        switch type {
        case .rsa, .ed25519, .ed448, .x25519, .x448: true
        case .ec(let curve): curve.hasPrefix("P-")
        case .dsa, .other: false
        }
    }

    static func hasWrongParameters(_ key: PublicKey) -> Bool {
        guard let algorithm = EncodedAlgorithm(DERElement(key.spki)?.children.first) else { return false }
        return switch key.type {
        case .rsa: algorithm.parameters?.tag != .null
        case .ec: algorithm.parameters?.tag != .objectIdentifier
        case .ed25519, .ed448, .x25519, .x448: algorithm.parameters != nil
        case .dsa, .other: false
        }
    }

    /// The operations that no key of this type can perform.
    static func impossible(for type: KeyType) -> KeyUsage {
        switch type {
        case .rsa: [.keyAgreement, .encipherOnly, .decipherOnly]
        case .ec: [.keyEncipherment, .dataEncipherment]
        case .ed25519, .ed448, .dsa:
            [.keyEncipherment, .dataEncipherment, .keyAgreement, .encipherOnly, .decipherOnly]
        case .x25519, .x448:
            [.digitalSignature, .nonRepudiation, .keyEncipherment, .dataEncipherment, .keyCertSign, .cRLSign]
        case .other: []
        }
    }
}
