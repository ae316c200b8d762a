internal import SwiftASN1

/// How one layer of a file is encrypted: a key derivation from the password, and a cipher.
struct EncryptionScheme: Sendable {
    /// From password to key.
    enum Derivation: Sendable {
        /// RFC 7292, B; the initialisation vector is derived too.
        case pkcs12(digest: String)
        /// RFC 8018, 5.1: eight octets of key, eight of initialisation vector.
        case pbkdf1(digest: String)
        /// RFC 8018, 5.2.
        case pbkdf2(digest: String)
        /// RFC 7914.
        case scrypt(cost: Int, blockSize: Int, parallelization: Int)
    }

    let derivation: Derivation
    let salt: [UInt8]
    /// Iterations, or what scrypt's parameters come to in calls of its core.
    let work: Int
    let cipher: CipherSpec
    /// The scheme's identifier and name, for errors.
    let identifier: String
    let name: String
    /// Such as `PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048`.
    let description: String

    var family: PasswordFamily {
        switch derivation {
        case .pkcs12: .wide
        case .pbkdf1, .pbkdf2, .scrypt: .octets
        }
    }

    /// Reads the scheme of an AlgorithmIdentifier and checks its counts; nothing is derived.
    init(_ node: ASN1Node, limits: PKCS12Limits, at place: String) throws(PKCS12Error) {
        let algorithm = try AlgorithmIdentifier(node, at: place)
        if algorithm.oid == OID.pbes2 {
            try self.init(pbes2: algorithm.requiredParameters(at: place), limits: limits, at: place)
        } else if let scheme = PBES1.schemes[algorithm.oid] {
            try self.init(
                pbes1: scheme, algorithm.oid, algorithm.requiredParameters(at: place), limits: limits,
                at: place)
        } else {
            throw .unsupported(oid: algorithm.oid)
        }
    }

    private init(
        pbes1 scheme: PBES1, _ oid: String, _ parameters: ASN1Node, limits: PKCS12Limits, at place: String
    ) throws(PKCS12Error) {
        var fields = try parameters.children(at: place)
        salt = Array(try fields.required("a salt", at: place).octets(at: place))
        work = try fields.required("an iteration count", at: place).iterations(limits, at: place)
        try fields.end(at: place)
        derivation = scheme.derivation
        cipher = CipherSpec(name: scheme.cipher)
        identifier = oid
        name = scheme.name
        description = "\(scheme.name) \(work)"
    }

    private init(pbes2 parameters: ASN1Node, limits: PKCS12Limits, at place: String) throws(PKCS12Error) {
        var fields = try parameters.children(at: place)
        let derivation = try PBES2Derivation(
            fields.required("a key derivation", at: place), limits: limits, at: place)
        let encryption = try AlgorithmIdentifier(
            fields.required("an encryption scheme", at: place), at: place)
        try fields.end(at: place)
        cipher = try CipherSpec(encryption, keyLength: derivation.keyLength, at: place)
        self.derivation = derivation.derivation
        salt = derivation.salt
        work = derivation.work
        identifier = OID.pbes2
        name = "PBES2 \(cipher.displayName) \(derivation.name)"
        description = "PBES2 \(cipher.displayName) \(derivation.description)"
    }
}
