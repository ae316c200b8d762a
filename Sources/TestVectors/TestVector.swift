internal import CertificateReading
internal import KeySharing
package import OpenSSL

/// A credential or a file with a known defect, or without one, and the expected behaviour of a correct consumer.
package struct TestVector: Sendable {
    /// The exit codes and results of a consumer's commands.
    package struct Expectation: Sendable, Hashable, Codable {
        /// The exit code of importing the file.
        package var importing: Int
        /// The types that the import requires. Empty for an import without requirements.
        package var requiring: [String] = []
        /// The number of imported identities.
        package var identities: Int
        /// The exit code of verifying the imported identities. Nil if none were imported.
        package var verifying: Int?
        /// The codes of the findings that `inspect` reports for the certificates.
        package var findings: [String] = []

        /// Returns the expectation that the import succeeds.
        static func accepted(
            _ identities: Int = 1, verifying: Int = 0, findings: [CertificateFinding.Code] = []
        ) -> Expectation {
            Expectation(
                importing: 0, identities: identities, verifying: verifying, findings: findings.map(\.rawValue)
            )
        }

        /// Returns the expectation that the import fails with the exit code `code` and imports nothing.
        static func refused(_ code: Int) -> Expectation {
            Expectation(importing: code, identities: 0)
        }

        /// Returns the expectation that the imported identity does not have the required type `type`.
        static func notA(_ type: String, verifying: Int = 0) -> Expectation {
            Expectation(importing: 6, requiring: [type], identities: 1, verifying: verifying)
        }
    }

    /// The material of a test vector.
    package enum Output: Sendable {
        /// Identities that a keychain can store. `isRevoked` adds their certificates to the issuer's revocation list.
        case identities([TestIdentity], isRevoked: Bool = false)
        /// A file that no provider would publish.
        case file([UInt8])
    }

    /// The password of a test vector's file.
    enum Password: Sendable, Hashable {
        /// The suite's password, which most files use.
        case ofSuite
        /// No password, which differs from the empty password (RFC 7292, B.1).
        case absent
        /// The given password, instead of the suite's.
        case text(String)

        /// Returns the password of the file, or nil if the file has no password. `password` is the suite's password.
        func text(ofSuite password: String) -> String? {
            switch self {
            case .ofSuite: password
            case .absent: nil
            case .text(let text): text
            }
        }
    }

    /// The name of the test vector, in lower case with hyphens.
    package let name: String
    /// One sentence that describes the test vector.
    package let summary: String
    /// The behaviour of a correct consumer, as a phrase that starts with a verb and has no full stop.
    package let expectedBehaviour: String
    /// The exit codes and results of a correct consumer.
    package let expectation: Expectation
    /// The password of the file.
    var password = Password.ofSuite
    /// The groups of the test vector, except `policy`, which is derived from the expected outcomes.
    private(set) var kinds: Set<TestVectorGroup> = []
    /// Whether both accepting and rejecting the file are correct, for every claim of the consumer.
    private(set) var mayBeRefused = false
    /// Why the behaviour is correct, if the table of reasons has no entry for the test vector.
    private(set) var ownReason: String?
    /// The flags, if the tables of flags have no entry for the test vector.
    private(set) var ownFlags: [String]?
    private let recipe: @Sendable (TestVectorContext) throws -> Output

    /// Creates a test vector.
    ///
    /// - Parameter make: Generates the material. It must draw all keys and numbers from the context.
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

    /// The name of the file that contains the test vector.
    package var fileName: String { "\(name).\(kinds.contains(.archives) ? "zip" : "p12")" }

    /// Generates the test vector with its own randomness, derived from that of `context`.
    ///
    /// - Throws: `OpenSSLError`, `CertificateError`, `PKCS12Error` or `ZipError` if the material cannot be generated.
    package func make(in context: TestVectorContext) throws -> MadeTestVector {
        let context = context.scoped(to: name)
        return MadeTestVector(vector: self, output: try recipe(context), context: context)
    }

    /// Returns a copy of the test vector that belongs to these groups.
    func inGroups(_ groups: Set<TestVectorGroup>) -> TestVector {
        var vector = self
        vector.kinds = groups
        return vector
    }

    /// Returns a copy of the test vector for which both accepting and rejecting the file are correct, for every claim
    /// of the consumer. `expectation` then describes only this package's own consumer.
    func acceptedOrRefused() -> TestVector {
        var vector = self
        vector.mayBeRefused = true
        return vector
    }

    /// Returns a copy of the test vector with its own reason and flags.
    func explained(_ reason: String, _ flags: [String]) -> TestVector {
        var vector = self
        vector.ownReason = reason
        vector.ownFlags = flags
        return vector
    }

    /// All defective test vectors: certificates, PKCS #12 files and archives.
    package static let defective: [TestVector] =
        (CertificateDefects.all + FileDefects.all).map { $0.inGroups([.faults]) }
        + ArchiveDefects.all.map { $0.inGroups([.faults, .archives]) } + DraftVectors.defective

    /// All test vectors. Those without a defect are first.
    package static let all: [TestVector] = sound + DraftVectors.sound + defective

    /// The defective test vector with this name, or nil.
    package static func defective(named name: String) -> TestVector? {
        defective.first { $0.name == name }
    }
}

/// A certificate with a private key. The key may belong to another certificate.
package struct TestIdentity: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The private key.
    package let privateKey: PrivateKey
    /// The issuer certificates that are included in the file.
    package var chain: [Certificate] = []

    /// Creates an identity without issuer certificates.
    package init(certificate: Certificate, privateKey: PrivateKey) {
        self.certificate = certificate
        self.privateKey = privateKey
    }
}
