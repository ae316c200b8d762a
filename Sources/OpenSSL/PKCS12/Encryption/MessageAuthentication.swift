internal import SecretMemory
internal import COpenSSL
internal import SwiftASN1

/// The MAC that protects a file against change (RFC 7292, 4; RFC 9579), read from its MacData but not yet verified.
struct MessageAuthentication {
    /// A function that derives the MAC's key from a password.
    enum Derivation {
        /// The derivation of RFC 7292, B.2, with the digest of the MAC.
        case pkcs12
        /// PBKDF2 in PBMAC1.
        case pbkdf2(digest: String)
    }

    /// The key derivation.
    let derivation: Derivation
    /// OpenSSL's name of the digest inside the HMAC.
    let digest: String
    /// The salt of the key derivation.
    let salt: [UInt8]
    /// The iterations of the key derivation.
    let iterations: Int
    /// The length of the MAC's key, in octets.
    let keyLength: Int
    /// The MAC in the file.
    let expected: [UInt8]
    /// The MAC as shown in a report.
    let information: MACInfo
    private let context: LibraryContext

    /// The processor time of the key derivation, in nanoseconds (``DerivationWork``).
    var processorTime: Int {
        switch derivation {
        case .pkcs12: DerivationWork.pkcs12(digest: digest, iterations: iterations, lengths: [keyLength])
        case .pbkdf2(let function):
            DerivationWork.pbkdf2(digest: function, iterations: iterations, length: keyLength)
        }
    }

    /// The form of password that the key derivation requires.
    var family: PasswordFamily {
        switch derivation {
        case .pkcs12: .wide
        case .pbkdf2: .octets
        }
    }

    /// Reads a MacData and checks its counts before anything is derived (docs/rules.md R7.13).
    ///
    /// - Parameters:
    ///   - node: The MacData.
    ///   - limits: The limits on the iteration count.
    ///   - report: Receives the properties of the MAC as soon as they are known, even if an error is thrown afterwards.
    /// - Throws: `refused`, `unsupportedAlgorithm`, `malformed`.
    init(
        _ node: ASN1Node, limits: PKCS12Limits, report: (MACInfo) -> Void
    ) throws(PKCS12Error) {
        let place = "macData"
        var fields = try node.children(at: place)
        var digestInfo = try fields.required("a DigestInfo", at: place).children(at: "\(place), DigestInfo")
        let algorithm = try AlgorithmIdentifier(
            digestInfo.required("an algorithm", at: "\(place), DigestInfo"), at: "\(place), DigestInfo")
        expected = Array(
            try digestInfo.required("a digest", at: "\(place), DigestInfo").octets(at: "\(place), digest"))
        try digestInfo.end(at: "\(place), DigestInfo")
        let outerSalt = Array(try fields.required("a salt", at: place).octets(at: "\(place), salt"))
        let count = fields.next()
        try fields.end(at: place)

        if algorithm.oid == OID.pbmac1 {
            // Readers ignore the salt and the count of the MacData itself (RFC 9579, 5).
            let parameters = try PBMAC1Parameters(
                algorithm.requiredParameters(at: "\(place), PBMAC1"), limits: limits, report: report)
            derivation = .pbkdf2(digest: parameters.derivationDigest)
            digest = parameters.digest
            salt = parameters.salt
            iterations = parameters.iterations
            keyLength = parameters.keyLength
            information = parameters.information
        } else {
            let name = ObjectIdentifierName.name(of: algorithm.oid)
            let known = DigestProperties(algorithm.oid)
            let digestName = known.map { DigestName.display($0.name) }
            let shown = digestName.map { "HMAC-\($0)" } ?? name
            let scheme = digestName.map { MACInfo.Scheme.pkcs12(digest: $0) } ?? .unknown
            let declared = try count.map { node throws(PKCS12Error) in
                try node.integer(at: "\(place), iteration count")
            }
            report(
                MACInfo(
                    scheme: scheme, algorithm: shown, iterations: (declared ?? 1) ?? 0,
                    saltLength: outerSalt.count))
            iterations =
                try count.map { node throws(PKCS12Error) in
                    try node.iterations(limits, at: place)
                } ?? 1
            guard let known else { throw .unsupported(oid: algorithm.oid) }
            derivation = .pkcs12
            digest = known.name
            salt = outerSalt
            keyLength = known.size
            information = MACInfo(
                scheme: scheme, algorithm: shown, iterations: iterations, saltLength: salt.count)
        }
        guard let traits = DigestProperties(digest) else { throw .unsupported(oid: algorithm.oid) }
        guard expected.count == traits.size else {
            throw .malformed("\(place), digest", expected: "\(traits.size) octets")
        }
        context = traits.context
    }

    /// Whether `password`, in the encoding that `family` requires, produces the file's MAC for `message`.
    ///
    /// - Throws: `unsupportedAlgorithm` if OpenSSL lacks the key derivation or the HMAC.
    func verifies(_ message: ArraySlice<UInt8>, password: SecretBytes) throws(PKCS12Error) -> Bool {
        do {
            let computed = try compute(message, password: password)
            return computed == SecretBytes(expected)
        } catch {
            throw PKCS12Error(
                .unsupportedAlgorithm(oid: "", name: information.algorithm), cause: error)
        }
    }

    private func compute(
        _ message: ArraySlice<UInt8>, password: SecretBytes
    ) throws(OpenSSLError) -> SecretBytes {
        let key =
            switch derivation {
            case .pkcs12:
                try KeyDerivation.pkcs12(
                    .integrityKey, password: password, salt: salt, iterations: iterations, digest: digest,
                    count: keyLength, context: context)
            case .pbkdf2(let prf):
                try KeyDerivation.pbkdf2(
                    password: password, salt: salt, iterations: iterations, digest: prf, count: keyLength,
                    context: DigestProperties(prf)?.context ?? .legacy)
            }
        return try HMAC.authenticate(message, key: key, digest: digest, context: context)
    }
}

/// The parameters of PBMAC1 (RFC 8018, A.5), within the limits of RFC 9579 (docs/rules.md R7.17).
private struct PBMAC1Parameters {
    /// OpenSSL's name of the digest inside PBKDF2's HMAC.
    let derivationDigest: String
    /// OpenSSL's name of the digest inside the MAC.
    let digest: String
    /// The salt of PBKDF2.
    let salt: [UInt8]
    /// The iterations of PBKDF2.
    let iterations: Int
    /// The length of the MAC's key, in octets.
    let keyLength: Int
    /// The MAC as shown in a report.
    let information: MACInfo

    init(_ node: ASN1Node, limits: PKCS12Limits, report: (MACInfo) -> Void) throws(PKCS12Error) {
        let place = "macData, PBMAC1"
        report(MACInfo(scheme: .unknown, algorithm: "PBMAC1", iterations: 0, saltLength: 0))
        var fields = try node.children(at: place)
        let derivation = try PBES2Derivation(
            fields.required("a key derivation", at: place), limits: limits, at: place)
        let scheme = try AlgorithmIdentifier(fields.required("a MAC scheme", at: place), at: place)
        try fields.end(at: place)
        let digest = HMACName.digests[scheme.oid]
        let shown =
            digest.map { "HMAC-\(DigestName.display($0))" } ?? ObjectIdentifierName.name(of: scheme.oid)
        var parts = MACInfo.Scheme.unknown
        if let digest, case .pbkdf2(let function) = derivation.derivation {
            parts = .pbmac1(digest: DigestName.display(digest), derivation: DigestName.display(function))
        }
        information = MACInfo(
            scheme: parts, algorithm: "PBMAC1 \(shown) \(derivation.name)", iterations: derivation.work,
            saltLength: derivation.salt.count)
        report(information)
        guard let digest else { throw .unsupported(oid: scheme.oid) }
        guard case .pbkdf2(let derivationDigest) = derivation.derivation else {
            throw .unsupported(oid: OID.scrypt)
        }
        // With a short key, a forged file would be accepted under any password.
        guard let keyLength = derivation.keyLength, 20...64 ~= keyLength else {
            throw .malformed("\(place), key length", expected: "20 to 64 octets")
        }
        self.digest = digest
        self.derivationDigest = derivationDigest
        self.keyLength = keyLength
        salt = derivation.salt
        iterations = derivation.work
    }
}
