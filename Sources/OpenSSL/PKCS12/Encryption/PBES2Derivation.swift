internal import SwiftASN1

/// The key derivation of PBES2 and PBMAC1 (RFC 8018, A.2; RFC 7914, 7; RFC 9579).
struct PBES2Derivation {
    /// The key derivation.
    let derivation: EncryptionScheme.Derivation
    /// The salt.
    let salt: [UInt8]
    /// The iteration count. For scrypt, the number of calls to its core function.
    let work: Int
    /// The key length in octets from the parameters; nil if they contain none.
    let keyLength: Int?
    /// The derivation in readable form, without counts.
    let name: String
    /// The derivation in readable form, with counts.
    let description: String

    /// Reads an AlgorithmIdentifier and checks its counts; nothing is derived.
    ///
    /// - Parameter tag: The tag of the AlgorithmIdentifier, which may be implicit.
    /// - Throws: `refused`, `unsupportedAlgorithm`, `malformed`.
    init(
        _ node: ASN1Node, tag: ASN1Identifier = .sequence, limits: PKCS12Limits, at place: String
    ) throws(PKCS12Error) {
        let algorithm = try AlgorithmIdentifier(node, tag: tag, at: place)
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
        var prf = OID.hmacSHA1
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
            // The limit keeps the products below from overflowing.
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

/// The HMACs that are valid as pseudo-random functions of PBKDF2 and as MAC schemes of PBMAC1.
enum HMACName {
    /// OpenSSL's name of the digest inside each HMAC, keyed by the HMAC's dotted identifier.
    static let digests: [String: String] = [
        "1.3.6.1.5.5.8.1.1": "MD5", "1.3.6.1.5.5.8.1.2": "SHA1", "1.3.6.1.5.5.8.1.4": "RIPEMD160",
        "1.2.840.113549.2.6": "MD5", OID.hmacSHA1: "SHA1", "1.2.840.113549.2.8": "SHA224",
        OID.hmacSHA256: "SHA256", "1.2.840.113549.2.10": "SHA384", "1.2.840.113549.2.11": "SHA512",
        "1.2.840.113549.2.12": "SHA512-224", "1.2.840.113549.2.13": "SHA512-256",
        "2.16.840.1.101.3.4.2.13": "SHA3-224", "2.16.840.1.101.3.4.2.14": "SHA3-256",
        "2.16.840.1.101.3.4.2.15": "SHA3-384", "2.16.840.1.101.3.4.2.16": "SHA3-512",
        "1.2.156.10197.1.401.2": "SM3",
    ]
}

extension ASN1Node {
    /// Reads an iteration count and checks it before anything is derived (docs/rules.md R7.13).
    ///
    /// - Throws: `refused` for a count outside the limits, `malformed` for anything but an INTEGER.
    func iterations(_ limits: PKCS12Limits, at place: String) throws(PKCS12Error) -> Int {
        let count = try integer(at: "\(place), iteration count")
        guard let count, 1...limits.iterations ~= count else {
            let asked = count.map { "\($0)" } ?? "an unrepresentable number of"
            throw .refused(
                .iterations,
                reason: "refused: \(place) requires \(asked) iterations; the limit is \(limits.iterations)")
        }
        return count
    }

    /// Reads a key length in octets.
    ///
    /// - Throws: `malformed` for a length that no cipher and no MAC uses.
    func keyLength(at place: String) throws(PKCS12Error) -> Int {
        guard let length = try integer(at: "\(place), key length"), 1...128 ~= length else {
            throw .malformed("\(place), key length", expected: "1 to 128")
        }
        return length
    }
}
