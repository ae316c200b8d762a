internal import SwiftASN1

/// The encryption of one layer of a file: a key derivation from the password, and a cipher.
struct EncryptionScheme: Sendable {
    /// A function that derives a key from a password.
    enum Derivation: Sendable {
        /// The derivation of RFC 7292, B.2, which also derives the initialization vector.
        case pkcs12(digest: String)
        /// PBKDF1 (RFC 8018, 5.1), which derives eight octets of key and eight of initialization vector.
        case pbkdf1(digest: String)
        /// PBKDF2 (RFC 8018, 5.2).
        case pbkdf2(digest: String)
        /// scrypt (RFC 7914).
        case scrypt(cost: Int, blockSize: Int, parallelization: Int)
    }

    /// The key derivation.
    let derivation: Derivation
    /// The salt of the key derivation.
    let salt: [UInt8]
    /// The iterations of the key derivation; for scrypt the number of calls to its core function, 2·N·r·p.
    let work: Int
    /// The cipher.
    let cipher: CipherSpec
    /// The scheme's dotted identifier: that of PBES2, or of a PBES1 scheme.
    let identifier: String
    /// The scheme in readable form, without the iteration count.
    let name: String
    /// The scheme in readable form, such as `PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048`.
    let description: String

    /// The estimated CPU time of the key derivation, in nanoseconds (``DerivationWork``).
    var processorTime: Int {
        switch derivation {
        case .pkcs12(let digest):
            DerivationWork.pkcs12(
                digest: digest, iterations: work, lengths: [cipher.keyLength, cipher.vectorLength])
        case .pbkdf1: DerivationWork.pbkdf1(iterations: work)
        case .pbkdf2(let digest):
            DerivationWork.pbkdf2(digest: digest, iterations: work, length: cipher.keyLength)
        case .scrypt(let cost, let blockSize, let parallelization):
            DerivationWork.scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        }
    }

    /// The form of password that the key derivation requires.
    var family: PasswordFamily {
        switch derivation {
        case .pkcs12: .wide
        case .pbkdf1, .pbkdf2, .scrypt: .octets
        }
    }

    /// Reads the scheme of an AlgorithmIdentifier and checks its counts before anything is derived (docs/rules.md
    /// R7.13).
    ///
    /// - Parameters:
    ///   - node: The AlgorithmIdentifier.
    ///   - limits: The limits on iterations and memory.
    ///   - place: The position in the file, for errors.
    /// - Throws: `refused`, `unsupportedAlgorithm`, `malformed`.
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
