internal import TestCredentials

/// A signed or encrypted message, valid or defective, and the expected behaviour of a correct mail program.
package struct MessageVector: Sendable {
    /// The expected answers of mail programs with each claim. A program accepts a message if it presents its content,
    /// without a warning, as one that passed the checks of the claim.
    struct Answers: Sendable {
        /// The answer of a program that decrypts messages and verifies signatures.
        let parse: TestVectorOutcome.Answer
        /// The answer of a program that also checks whether the sender signed the content.
        let identity: TestVectorOutcome.Answer
        /// The answer of a program that also validates the signer's certificate.
        let path: TestVectorOutcome.Answer

        /// The sender signed the content, and nothing is defective.
        static let valid = Answers(parse: .accept, identity: .accept, path: .accept)
        /// The message does not open, or its signature does not match.
        static let unreadable = Answers(parse: .refuse, identity: .refuse, path: .refuse)
        /// The message opens, but the sender did not sign its content.
        static let notSigned = Answers(parse: .accept, identity: .refuse, path: .refuse)
        /// The sender did not sign the content, and a program that decrypts messages may also reject it.
        static let unsafe = Answers(parse: .either, identity: .refuse, path: .refuse)
        /// The sender signed the content with a certificate that is not valid.
        static let invalidSigner = Answers(parse: .accept, identity: .accept, path: .refuse)
        /// Whether the sender signed the content depends on the reading of the standard.
        static let debatableSender = Answers(parse: .accept, identity: .either, path: .either)
        /// Whether the signer's certificate is valid depends on the time at which it is validated.
        static let debatableSigner = Answers(parse: .accept, identity: .accept, path: .either)
        /// Accepting and rejecting are both correct.
        static let debatable = Answers(parse: .either, identity: .either, path: .either)

        /// The expected answer of a program that makes this claim.
        subscript(claim: TestVectorClaim) -> TestVectorOutcome.Answer {
            switch claim {
            case .parse: parse
            case .identity: identity
            case .path: path
            }
        }
    }

    /// The name of the test vector, in lower case with hyphens; it begins with `message-`.
    package let name: String
    /// One sentence that describes the message.
    package let summary: String
    /// The behaviour of a correct mail program, as a phrase that starts with a verb and has no full stop.
    package let expectedBehaviour: String
    /// Why this behaviour is correct: the section of a standard, or a public report.
    package let reason: String
    /// The name of the check of `verify --message` that fails or remains open; nil if none does.
    package let check: String?
    private let answers: Answers
    private let recipe: @Sendable (MessageMaterial) throws -> [UInt8]

    /// Creates a test vector.
    ///
    /// - Parameter write: Writes the message. It must draw all keys and numbers from the material.
    init(
        _ name: String, _ summary: String, _ answers: Answers, _ expectedBehaviour: String,
        because reason: String, check: String? = nil,
        write: @escaping @Sendable (MessageMaterial) throws -> [UInt8]
    ) {
        self.name = "message-\(name)"
        self.summary = summary
        self.expectedBehaviour = expectedBehaviour
        self.reason = reason
        self.check = check
        self.answers = answers
        recipe = write
    }

    /// All test vectors. Those without a defect are first.
    package static let all: [MessageVector] = {
        let vectors =
            SignatureVectors.all + SignerVectors.all + StructureVectors.all + EncryptionVectors.all
            + HeaderVectors.all
        return vectors.filter(\.isValid) + vectors.filter { !$0.isValid }
    }()

    /// Whether every correct program accepts the message, whatever it checks.
    package var isValid: Bool { answers.path == .accept }

    /// The name of the message's file.
    package var file: String { "\(name).eml" }

    /// The entry in reports. `password` is that of the recipient's PKCS #12 file.
    package func entry(password: String?) -> TestVectorSuite.Entry {
        TestVectorSuite.Entry(
            name: name, groups: [.messages], file: file, password: password, summary: summary,
            expectedBehaviour: expectedBehaviour, reason: reason,
            expected: .init { TestVectorOutcome(answers[$0]) }, mayBlamePassword: false)
    }

    /// Writes the message with its own randomness, derived from that of `material`.
    ///
    /// - Throws: `OpenSSLError`, `CertificateError`, `CMSError` or `FileError` if the message cannot be written.
    func message(_ material: MessageMaterial) throws -> [UInt8] { try recipe(material.scoped(to: self)) }
}
