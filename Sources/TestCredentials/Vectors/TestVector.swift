internal import CertificateReading
internal import KeySharing
package import OpenSSL

/// A credential or a file made in a known way, with what a correct consumer makes of it.
package struct TestVector: Sendable {
    /// The exit codes and results of a consumer's commands.
    package struct Expectation: Sendable, Hashable, Codable {
        /// The exit code of importing the file.
        package var importing: Int
        /// The types that the import requires; empty for an import without requirements.
        package var requiring: [String] = []
        /// How many identities the import brings.
        package var identities: Int
        /// The exit code of verifying what was imported; nil where nothing was.
        package var verifying: Int?
        /// The codes of the findings that `inspect` reports about the certificates.
        package var findings: [String] = []

        /// The import succeeds.
        static func accepted(
            _ identities: Int = 1, verifying: Int = 0, findings: [CertificateFinding.Code] = []
        ) -> Expectation {
            Expectation(
                importing: 0, identities: identities, verifying: verifying, findings: findings.map(\.rawValue)
            )
        }

        /// The import brings nothing and ends with `code`.
        static func refused(_ code: Int) -> Expectation {
            Expectation(importing: code, identities: 0)
        }

        /// The import brings an identity of another type than the one that its holder needs.
        static func notA(_ type: String, verifying: Int = 0) -> Expectation {
            Expectation(importing: 6, requiring: [type], identities: 1, verifying: verifying)
        }
    }

    /// The material that a test vector consists of.
    package enum Output: Sendable {
        /// Identities that a keychain can hold; `isRevoked` puts their certificates on the issuer's revocation list.
        case identities([TestIdentity], isRevoked: Bool = false)
        /// A file that no provider would publish.
        case file([UInt8], suffix: String = "p12")
    }

    /// The password of a test vector's file.
    enum Password: Sendable, Hashable {
        /// That of the suite.
        case ofSuite
        /// None at all, which differs from the empty one (RFC 7292, B.1).
        case absent
        /// This one.
        case text(String)

        /// The password, where the suite's is this; nil where there is none.
        func text(ofSuite password: String) -> String? {
            switch self {
            case .ofSuite: password
            case .absent: nil
            case .text(let text): text
            }
        }
    }

    /// The name, in lower case with hyphens.
    package let name: String
    /// One sentence about what the test vector is.
    package let summary: String
    /// What a correct consumer does, as a predicate without a full stop.
    package let expectedBehaviour: String
    /// The exit codes and results of a correct consumer.
    package let expectation: Expectation
    /// The password of the file.
    var password = Password.ofSuite
    /// The groups of the test vector, but for policy, which follows from what is expected.
    private(set) var kinds: Set<TestVectorGroup> = []
    private let recipe: @Sendable (TestVectorContext) throws -> Output

    /// A test vector.
    ///
    /// - Parameter make: makes the material. It draws keys and numbers from the context and from nothing else.
    init(
        _ name: String, _ summary: String, _ expectedBehaviour: String, _ expectation: Expectation,
        make: @escaping @Sendable (TestVectorContext) throws -> Output
    ) {
        self.name = name
        self.summary = summary
        self.expectedBehaviour = expectedBehaviour
        self.expectation = expectation
        recipe = make
    }

    /// Makes the test vector, with randomness of its own below that of `context`.
    ///
    /// - Throws: `OpenSSLError`, `CertificateError`, `PKCS12Error` or `ZipError` where the material cannot be made.
    package func make(in context: TestVectorContext) throws -> MadeTestVector {
        let context = context.scoped(to: name)
        return MadeTestVector(vector: self, output: try recipe(context), context: context)
    }

    /// This test vector in these groups.
    func inGroups(_ groups: Set<TestVectorGroup>) -> TestVector {
        var vector = self
        vector.kinds = groups
        return vector
    }

    /// Every defective test vector: of certificates, PKCS #12 files and archives.
    package static let defective: [TestVector] =
        (CertificateDefects.all + FileDefects.all).map { $0.inGroups([.faults]) }
        + ArchiveDefects.all.map { $0.inGroups([.faults, .archives]) }

    /// Every test vector, the sound ones first.
    package static let all: [TestVector] = sound + defective

    /// The defective test vector of a name; nil where there is none.
    package static func defective(named name: String) -> TestVector? {
        defective.first { $0.name == name }
    }
}

/// A certificate with a private key, which need not belong to it.
package struct TestIdentity: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The private key.
    package let privateKey: PrivateKey
    /// The certificates of issuers that a file of the identity carries.
    package var chain: [Certificate] = []

    /// An identity whose file carries no issuer.
    package init(certificate: Certificate, privateKey: PrivateKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
