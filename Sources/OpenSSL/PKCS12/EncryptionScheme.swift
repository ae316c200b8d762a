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
    let cipher: CipherChoice
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
        cipher = CipherChoice(name: scheme.cipher)
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
        cipher = try CipherChoice(encryption, keyLength: derivation.keyLength, at: place)
        self.derivation = derivation.derivation
        salt = derivation.salt
        work = derivation.work
        identifier = OID.pbes2
        name = "PBES2 \(cipher.displayName) \(derivation.name)"
        description = "PBES2 \(cipher.displayName) \(derivation.description)"
    }
}

/// The key derivation of PBES2 and PBMAC1 (RFC 8018, A.2; RFC 7914, 7; RFC 9579).
struct PBES2Derivation {
    let derivation: EncryptionScheme.Derivation
    let salt: [UInt8]
    let work: Int
    let keyLength: Int?
    /// Without and with the counts.
    let name: String
    let description: String

    init(_ node: ASN1Node, limits: PKCS12Limits, at place: String) throws(PKCS12Error) {
        let algorithm = try AlgorithmIdentifier(node, at: place)
        switch algorithm.oid {
        case OID.pbkdf2:
            try self.init(pbkdf2: algorithm.requiredParameters(at: place), limits: limits, at: place)
        case OID.scrypt:
            try self.init(scrypt: algorithm.requiredParameters(at: place), limits: limits, at: place)
        default: throw .unsupported(oid: algorithm.oid)
        }
    }

    private init(pbkdf2 parameters: ASN1Node, limits: PKCS12Limits, at place: String) throws(PKCS12Error) {
        var fields = try parameters.children(at: place)
        salt = Array(try fields.required("a salt", at: place).octets(at: "\(place), PBKDF2 salt"))
        work = try fields.required("an iteration count", at: place).iterations(limits, at: place)
        keyLength = try fields.optional(.integer).map { node throws(PKCS12Error) in
            try node.keyLength(at: place)
        }
        var prf = "1.2.840.113549.2.7"
        if let node = fields.next() { prf = try AlgorithmIdentifier(node, at: place).oid }
        try fields.end(at: place)
        guard let digest = HMACName.digests[prf] else { throw .unsupported(oid: prf) }
        derivation = .pbkdf2(digest: digest)
        name = "PBKDF2 HMAC-\(DigestName.display(digest))"
        description = "\(name) \(work)"
    }

    private init(scrypt parameters: ASN1Node, limits: PKCS12Limits, at place: String) throws(PKCS12Error) {
        var fields = try parameters.children(at: place)
        salt = Array(try fields.required("a salt", at: place).octets(at: place))
        var numbers: [Int] = []
        for name in ["a cost", "a block size", "a parallelization"] {
            // Far below where their products would overflow.
            guard let number = try fields.required(name, at: place).integer(at: place),
                1...(1 << 20) ~= number
            else { throw .refused(.scrypt) }
            numbers.append(number)
        }
        keyLength = try fields.optional(.integer).map { node throws(PKCS12Error) in
            try node.keyLength(at: place)
        }
        try fields.end(at: place)
        let (cost, blockSize, parallelization) = (numbers[0], numbers[1], numbers[2])
        guard cost > 1, cost.nonzeroBitCount == 1,
            128 * blockSize * (cost + parallelization + 2) <= limits.scryptMemory
        else { throw .refused(.scrypt) }
        work = 2 * cost * blockSize * parallelization
        guard work <= limits.iterations else { throw .refused(.scrypt) }
        derivation = .scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        name = "scrypt"
        description = "scrypt N=\(cost) r=\(blockSize) p=\(parallelization)"
    }
}

/// A scheme of PKCS #5 v1.5 or of RFC 7292 (C), where one identifier names derivation and cipher.
struct PBES1: Sendable {
    let name: String
    let derivation: EncryptionScheme.Derivation
    let cipher: String

    private init(_ name: String, _ derivation: EncryptionScheme.Derivation, _ cipher: String) {
        self.name = name
        self.derivation = derivation
        self.cipher = cipher
    }

    static let schemes: [String: PBES1] = [
        "1.2.840.113549.1.12.1.1": PBES1("pbeWithSHA1And128BitRC4", .pkcs12(digest: "SHA1"), "RC4"),
        "1.2.840.113549.1.12.1.2": PBES1("pbeWithSHA1And40BitRC4", .pkcs12(digest: "SHA1"), "RC4-40"),
        "1.2.840.113549.1.12.1.3": PBES1(
            "pbeWithSHA1And3-KeyTripleDES-CBC", .pkcs12(digest: "SHA1"), "DES-EDE3-CBC"),
        "1.2.840.113549.1.12.1.4": PBES1(
            "pbeWithSHA1And2-KeyTripleDES-CBC", .pkcs12(digest: "SHA1"), "DES-EDE-CBC"),
        "1.2.840.113549.1.12.1.5": PBES1(
            "pbeWithSHA1And128BitRC2-CBC", .pkcs12(digest: "SHA1"), "RC2-CBC"),
        "1.2.840.113549.1.12.1.6": PBES1(
            "pbeWithSHA1And40BitRC2-CBC", .pkcs12(digest: "SHA1"), "RC2-40-CBC"),
        "1.2.840.113549.1.5.1": PBES1("pbeWithMD2AndDES-CBC", .pbkdf1(digest: "MD2"), "DES-CBC"),
        "1.2.840.113549.1.5.3": PBES1("pbeWithMD5AndDES-CBC", .pbkdf1(digest: "MD5"), "DES-CBC"),
        "1.2.840.113549.1.5.4": PBES1("pbeWithMD2AndRC2-CBC", .pbkdf1(digest: "MD2"), "RC2-64-CBC"),
        "1.2.840.113549.1.5.6": PBES1("pbeWithMD5AndRC2-CBC", .pbkdf1(digest: "MD5"), "RC2-64-CBC"),
        "1.2.840.113549.1.5.10": PBES1("pbeWithSHA1AndDES-CBC", .pbkdf1(digest: "SHA1"), "DES-CBC"),
        "1.2.840.113549.1.5.11": PBES1("pbeWithSHA1AndRC2-CBC", .pbkdf1(digest: "SHA1"), "RC2-64-CBC"),
        // Bouncy Castle's own.
        "1.3.6.1.4.1.22554.1.1.2.1.2": PBES1(
            "pbeWithSHA1And128BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-128-CBC"),
        "1.3.6.1.4.1.22554.1.1.2.1.22": PBES1(
            "pbeWithSHA1And192BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-192-CBC"),
        "1.3.6.1.4.1.22554.1.1.2.1.42": PBES1(
            "pbeWithSHA1And256BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-256-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.2": PBES1(
            "pbeWithSHA256And128BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-128-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.22": PBES1(
            "pbeWithSHA256And192BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-192-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.42": PBES1(
            "pbeWithSHA256And256BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-256-CBC"),
    ]
}

/// Pseudo-random functions of PBKDF2 and MAC schemes of PBMAC1, by identifier, to the digest inside.
enum HMACName {
    static let digests: [String: String] = [
        "1.3.6.1.5.5.8.1.1": "MD5", "1.3.6.1.5.5.8.1.2": "SHA1", "1.3.6.1.5.5.8.1.4": "RIPEMD160",
        "1.2.840.113549.2.6": "MD5", "1.2.840.113549.2.7": "SHA1", "1.2.840.113549.2.8": "SHA224",
        "1.2.840.113549.2.9": "SHA256", "1.2.840.113549.2.10": "SHA384", "1.2.840.113549.2.11": "SHA512",
        "1.2.840.113549.2.12": "SHA512-224", "1.2.840.113549.2.13": "SHA512-256",
        "2.16.840.1.101.3.4.2.13": "SHA3-224", "2.16.840.1.101.3.4.2.14": "SHA3-256",
        "2.16.840.1.101.3.4.2.15": "SHA3-384", "2.16.840.1.101.3.4.2.16": "SHA3-512",
        "1.2.156.10197.1.401.2": "SM3",
    ]
}

extension ASN1Node {
    /// An iteration count within the limits, which are checked here, before anything is derived.
    func iterations(_ limits: PKCS12Limits, at place: String) throws(PKCS12Error) -> Int {
        let count = try integer(at: "\(place), iteration count")
        guard let count, 1...limits.iterations ~= count else {
            let asked = count.map { "\($0)" } ?? "more than any number of"
            throw .refused(
                .iterations,
                reason: "refused: \(place) asks for \(asked) iterations; 1 to \(limits.iterations) are done")
        }
        return count
    }

    /// A key length in octets that some cipher or MAC could have.
    func keyLength(at place: String) throws(PKCS12Error) -> Int {
        guard let length = try integer(at: "\(place), key length"), 1...128 ~= length else {
            throw .malformed("\(place), key length", expected: "1 to 128")
        }
        return length
    }
}
