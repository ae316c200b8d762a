internal import KeySharing
internal import OpenSSL
internal import SecretMemory

/// Test vectors that are built from drafts, by topic. Each is linked to the clause of a standard or to a public report.
enum DraftVectors {
    /// The valid test vectors.
    static let sound = all.filter(\.isValid).map { $0.vector.inGroups([.formats]) }
    /// The test vectors that are invalid, or that a correct consumer may reject.
    static let defective = all.filter { !$0.isValid }.map { $0.vector.inGroups([.faults]) }

    private static let all: [Drafted] =
        PBMAC1Vectors.all + PasswordVectors.all + BERVectors.all + AttributeVectors.all + BagVectors.all
        + IdentityVectors.all + AlgorithmVectors.all + ParameterVectors.all + IterationVectors.all
        + KeyVectors.all
}

/// A test vector that is built from a draft.
struct Drafted: Sendable {
    /// The expected verdict.
    enum Verdict: Sendable {
        /// A correct consumer imports this number of identities.
        case valid(Int = 1)
        /// A correct consumer rejects the file; the exit code is that of this package's consumer.
        case invalid(Int)
        /// Accepting and rejecting are both defensible. The value describes this package's consumer.
        case either(TestVector.Expectation)
    }

    /// The test vector.
    let vector: TestVector
    /// Whether every correct consumer accepts the file.
    let isValid: Bool

    /// Creates a test vector from a draft of a file with one identity.
    ///
    /// - Parameters:
    ///   - name: The name of the test vector.
    ///   - summary: One sentence that describes it.
    ///   - verdict: The expected verdict.
    ///   - behaviour: The behaviour of a correct consumer, as a phrase that starts with a verb.
    ///   - reason: Why the verdict is correct, with the clause of a standard or a public report.
    ///   - flags: The flags, which are keys of ``VectorNote/all``.
    ///   - password: The password of the file.
    ///   - edit: Changes the draft.
    init(
        _ name: String, _ summary: String, _ verdict: Verdict, _ behaviour: String = "imports it",
        because reason: String, _ flags: String..., password: TestVector.Password = .ofSuite,
        edit: @escaping @Sendable (inout PKCS12Draft, TestVectorContext) throws -> Void
    ) {
        let expectation: TestVector.Expectation =
            switch verdict {
            case .valid(let count): .accepted(count)
            case .invalid(let code): .refused(code)
            case .either(let ours): ours
            }
        var vector = TestVector(name, summary, behaviour, expectation) { context in
            var draft = try context.draft([try context.identity()], password)
            try edit(&draft, context)
            return .file(try draft.bytes())
        }
        vector.password = password
        vector = vector.explained(reason, flags)
        if case .either = verdict { vector = vector.acceptedOrRefused() }
        self.vector = vector
        isValid = if case .valid = verdict { true } else { false }
    }
}

extension TestVectorContext {
    /// Octets from the randomness of the test vector.
    func octets(_ count: Int, _ name: String) -> [UInt8] {
        var generator = source.child("octets \(name)").generator()
        return generator.octets(count)
    }

    /// The encryption that OpenSSL 3 writes by default: AES-256 and HMAC-SHA-256.
    ///
    /// - Throws: `ASN1Error`, which does not happen.
    func encryption(_ part: String, iterations: Int = 2_048) throws -> PKCS12Draft.Encryption {
        try .pbes2(
            vector: octets(16, "vector \(part)"), salt: octets(16, "salt \(part)"), iterations: iterations)
    }

    /// The bags of an identity: the certificate, then the encrypted key.
    ///
    /// - Throws: `OpenSSLError` if the key cannot be encoded.
    func bags(
        of identity: TestIdentity, name: String? = "Test", part: String = ""
    ) throws -> (certificate: PKCS12Draft.Bag, key: PKCS12Draft.Bag) {
        let attributes = try PKCS12Draft.Bag.attributes(
            name: name, localKeyID: Digest.sha1(identity.certificate.der))
        return (
            PKCS12Draft.Bag(.certificate(identity.certificate.der), attributes),
            PKCS12Draft.Bag(
                .shroudedKey(try identity.privateKey.info(), try encryption("key \(part)")), attributes)
        )
    }

    /// A draft of the file that OpenSSL 3 writes by default: one safe with the certificates, and one with the keys.
    ///
    /// - Throws: `OpenSSLError` if a key cannot be encoded.
    func draft(_ identities: [TestIdentity], _ password: TestVector.Password = .ofSuite) throws -> PKCS12Draft
    {
        let bags = try identities.enumerated().map { try self.bags(of: $1, part: "\($0)") }
        let text = unsafe self.password.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        return PKCS12Draft(
            safes: [
                .init(bags.map(\.certificate), try encryption("certificates")), .init(bags.map(\.key)),
            ], mac: .pkcs12(digest: OID.sha256, salt: octets(16, "MAC"), iterations: 2_048),
            password: password.text(ofSuite: text).map { .init($0) } ?? .absent)
    }
}

extension PrivateKey {
    /// The PrivateKeyInfo (RFC 5208, 5). The key is test material, so the octets need not be wiped.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL cannot encode the key.
    func info() throws -> [UInt8] {
        try unsafe pkcs8().withUnsafeBytes { unsafe Array($0) }
    }
}
