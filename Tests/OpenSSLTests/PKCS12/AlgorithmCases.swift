@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

/// An encryption scheme whose single identifier names key derivation and cipher.
struct NamedScheme: Sendable, CustomTestStringConvertible {
    let oid: String
    let name: String
    var digest = "SHA1"
    var keyLength = 0
    var testDescription: String { name }

    static let pbes1 = [
        NamedScheme(oid: "1.2.840.113549.1.12.1.1", name: "pbeWithSHA1And128BitRC4"),
        NamedScheme(oid: "1.2.840.113549.1.12.1.2", name: "pbeWithSHA1And40BitRC4"),
        NamedScheme(oid: OID.pbeWithSHA1AndTripleDES, name: "pbeWithSHA1And3-KeyTripleDES-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.12.1.4", name: "pbeWithSHA1And2-KeyTripleDES-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.12.1.5", name: "pbeWithSHA1And128BitRC2-CBC"),
        NamedScheme(oid: OID.pbeWithSHA1AndRC2With40Bits, name: "pbeWithSHA1And40BitRC2-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.5.3", name: "pbeWithMD5AndDES-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.5.6", name: "pbeWithMD5AndRC2-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.5.10", name: "pbeWithSHA1AndDES-CBC"),
        NamedScheme(oid: "1.2.840.113549.1.5.11", name: "pbeWithSHA1AndRC2-CBC"),
    ]

    static let bouncyCastle = ["SHA1", "SHA256"].flatMap { digest in
        let base = digest == "SHA1" ? "1.3.6.1.4.1.22554.1.1.2.1" : "1.3.6.1.4.1.22554.1.2.1.2.1"
        return [(16, 2), (24, 22), (32, 42)].map { length, number in
            NamedScheme(
                oid: "\(base).\(number)", name: "pbeWith\(digest)And\(length * 8)BitAES-CBC", digest: digest,
                keyLength: length)
        }
    }
}

/// A cipher of PBES2, with the data that a test needs to write it.
struct PBES2Cipher: Sendable, CustomTestStringConvertible {
    /// The parameters in the cipher's AlgorithmIdentifier.
    enum Parameters: Sendable {
        case vector(Int)
        /// The version of RC2, then the initialization vector.
        case version(Int)
        /// The initialization vector, then the key bits of CAST5.
        case keyBits(Int)
        /// The initialization vector and the tag length of GCM; nil omits the tag length.
        case tag(Int?)
        /// No parameters, as for RC4.
        case none
    }

    let name: String
    let oid: String
    let keyLength: Int
    let parameters: Parameters
    var statesKeyLength = false
    /// OpenSSL's name of the cipher if OpenSSL's own PBES2 lacks it; otherwise nil.
    var primitive: String?
    var testDescription: String { name }

    static let all: [PBES2Cipher] = [
        .init("AES-128-CBC", OID.aes128CBC, 16),
        .init("AES-192-CBC", "2.16.840.1.101.3.4.1.22", 24),
        .init("AES-256-CBC", OID.aes256CBC, 32),
        .init("AES-128-OFB", "2.16.840.1.101.3.4.1.3", 16),
        .init("AES-256-OFB", "2.16.840.1.101.3.4.1.43", 32),
        .init("AES-128-CFB", "2.16.840.1.101.3.4.1.4", 16),
        .init("AES-256-CFB", "2.16.840.1.101.3.4.1.44", 32),
        .init("DES-EDE3-CBC", OID.tripleDESCBC, 24, .vector(8)),
        .init("DES-CBC", "1.3.14.3.2.7", 8, .vector(8)), .init("DES-OFB", "1.3.14.3.2.8", 8, .vector(8)),
        .init("DES-CFB", "1.3.14.3.2.9", 8, .vector(8)),
        .init("RC2-CBC-40", OID.rc2CBC, 5, .version(160), statesKeyLength: true),
        .init("RC2-CBC-64", OID.rc2CBC, 8, .version(120), statesKeyLength: true),
        .init("RC2-CBC-128", OID.rc2CBC, 16, .version(58), statesKeyLength: true),
        .init("RC2-CBC-40", OID.rc2CBC, 5, .version(160)),
        .init("RC2-CBC-128", OID.rc2CBC, 16, .version(58)),
        .init("CAST5-CBC", OID.cast5CBC, 16, .keyBits(128), primitive: "CAST5-CBC"),
        .init("CAST5-CBC", OID.cast5CBC, 16, .vector(8)),
        .init("BF-CBC", "1.3.6.1.4.1.3029.1.2", 16, .vector(8)),
        .init("SEED-CBC", "1.2.410.200004.1.4", 16),
        .init("CAMELLIA-128-CBC", "1.2.392.200011.61.1.1.1.2", 16),
        .init("CAMELLIA-192-CBC", "1.2.392.200011.61.1.1.1.3", 24),
        .init("CAMELLIA-256-CBC", "1.2.392.200011.61.1.1.1.4", 32),
        .init("ARIA-128-CBC", "1.2.410.200046.1.1.2", 16), .init("ARIA-192-CBC", "1.2.410.200046.1.1.7", 24),
        .init("ARIA-256-CBC", "1.2.410.200046.1.1.12", 32), .init("SM4-CBC", "1.2.156.10197.1.104.2", 16),
        .init("RC4", "1.2.840.113549.3.4", 16, .none, primitive: "RC4"),
        .init("AES-128-GCM", "2.16.840.1.101.3.4.1.6", 16, .tag(16), primitive: "AES-128-GCM"),
        .init("AES-192-GCM", "2.16.840.1.101.3.4.1.26", 24, .tag(nil), primitive: "AES-192-GCM"),
        .init("AES-256-GCM", "2.16.840.1.101.3.4.1.46", 32, .tag(16), primitive: "AES-256-GCM"),
    ]

    init(
        _ name: String, _ oid: String, _ keyLength: Int, _ parameters: Parameters = .vector(16),
        statesKeyLength: Bool = false, primitive: String? = nil
    ) {
        self.name = name
        self.oid = oid
        self.keyLength = keyLength
        self.parameters = parameters
        self.statesKeyLength = statesKeyLength
        self.primitive = primitive
    }

    var vector: [UInt8] {
        switch parameters {
        case .vector(let count): [UInt8](repeating: 9, count: count)
        case .version, .keyBits: [UInt8](repeating: 9, count: 8)
        case .tag: [UInt8](repeating: 9, count: 12)
        case .none: []
        }
    }

    var tagLength: Int? {
        if case .tag(let length) = parameters { length ?? 12 } else { nil }
    }

    func append(to algorithm: inout DER.Serializer) throws {
        try algorithm.objectIdentifier(oid)
        switch parameters {
        case .vector: try algorithm.octets(vector)
        case .none: try algorithm.serialize(ASN1Null())
        case .version(let version):
            try algorithm.sequence { fields in
                try fields.serialize(version)
                try fields.octets(vector)
            }
        case .keyBits(let number), .tag(let number?):
            try algorithm.sequence { fields in
                try fields.octets(vector)
                try fields.serialize(number)
            }
        case .tag(nil):
            try algorithm.sequence { try $0.octets(vector) }
        }
    }
}

/// An HMAC as pseudo-random function of PBKDF2 and as MAC of PBMAC1.
struct PseudoRandomFunction: Sendable, CustomTestStringConvertible {
    let name: String
    let oid: String
    let digest: String
    var testDescription: String { name }

    static let all: [PseudoRandomFunction] = [
        .init(name: "SHA-1", oid: OID.hmacSHA1, digest: "SHA1"),
        .init(name: "MD5", oid: "1.2.840.113549.2.6", digest: "MD5"),
        .init(name: "MD5", oid: "1.3.6.1.5.5.8.1.1", digest: "MD5"),
        .init(name: "SHA-1", oid: "1.3.6.1.5.5.8.1.2", digest: "SHA1"),
        .init(name: "RIPEMD160", oid: "1.3.6.1.5.5.8.1.4", digest: "RIPEMD160"),
        .init(name: "SHA-224", oid: "1.2.840.113549.2.8", digest: "SHA224"),
        .init(name: "SHA-256", oid: OID.hmacSHA256, digest: "SHA256"),
        .init(name: "SHA-384", oid: "1.2.840.113549.2.10", digest: "SHA384"),
        .init(name: "SHA-512", oid: "1.2.840.113549.2.11", digest: "SHA512"),
        .init(name: "SHA-512/224", oid: "1.2.840.113549.2.12", digest: "SHA512-224"),
        .init(name: "SHA-512/256", oid: "1.2.840.113549.2.13", digest: "SHA512-256"),
        .init(name: "SHA3-224", oid: "2.16.840.1.101.3.4.2.13", digest: "SHA3-224"),
        .init(name: "SHA3-256", oid: "2.16.840.1.101.3.4.2.14", digest: "SHA3-256"),
        .init(name: "SHA3-384", oid: "2.16.840.1.101.3.4.2.15", digest: "SHA3-384"),
        .init(name: "SHA3-512", oid: "2.16.840.1.101.3.4.2.16", digest: "SHA3-512"),
        .init(name: "SM3", oid: "1.2.156.10197.1.401.2", digest: "SM3"),
    ]
}

extension DER.Serializer {
    /// Appends the AlgorithmIdentifier of PBES2 with any key derivation and cipher.
    mutating func appendPBES2(
        _ derivation: (inout DER.Serializer) throws -> Void, _ cipher: (inout DER.Serializer) throws -> Void
    ) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(OID.pbes2)
            try algorithm.sequence { parameters in
                try parameters.sequence(derivation)
                try parameters.sequence(cipher)
            }
        }
    }

    /// Appends the fields of an AlgorithmIdentifier of PBKDF2; a `prf` of nil leaves the default, HMAC-SHA-1.
    mutating func appendPBKDF2(_ salt: [UInt8], _ iterations: Int, keyLength: Int?, prf: String?) throws {
        try objectIdentifier(OID.pbkdf2)
        try sequence { values in
            try values.octets(salt)
            try values.serialize(iterations)
            if let keyLength { try values.serialize(keyLength) }
            if let prf { try values.sequence { try $0.null(after: prf) } }
        }
    }
}

extension PKCS12Samples {
    /// A layer of 64 octets with a wrong AlgorithmIdentifier, which `algorithm` writes.
    static func layer(_ algorithm: (inout DER.Serializer) throws -> Void) throws -> EncryptedLayer {
        layer(algorithm: try ASN1.encoded(algorithm))
    }
}
