internal import Foundation
internal import OpenSSL
internal import SecretMemory
internal import StandardExtensions
internal import TestCredentials

/// The files of message vectors, with a document that describes the correct behaviour for each.
///
/// The same seed and date result in the same bytes, including signatures and content keys.
package struct MessageVectorSuite: Sendable {
    /// The contents of `expected.json`.
    package struct Expectations: Sendable, Codable, Hashable {
        /// The PKCS #12 file with the key that opens the encrypted messages.
        package struct Recipient: Sendable, Codable, Hashable {
            /// The name of the file.
            package let file: String
            /// The password of the file, which is not secret.
            package let password: String
        }

        /// A message and the correct behaviour.
        package struct Message: Sendable, Codable, Hashable {
            /// The name of the test vector. It never changes between versions.
            package let name: String
            /// The name of the file.
            package let file: String
            /// One sentence that describes the message.
            package let description: String
            /// The behaviour of a correct mail program, as a phrase that starts with a verb.
            package let behaviour: String
            /// Why this behaviour is correct: the section of a standard, or a public report.
            package let why: String
            /// The expected outcome for each claim.
            package let expected: TestVectorSuite.Entry.Outcomes
            /// The check of `keyshare-consumer verify --message` that fails or remains open; omitted if none does.
            package let check: String?
        }

        /// The version of the format. Keys and messages may be added to a version but are never removed.
        package let version: Int
        /// The date at which certificates are validated, in ISO 8601.
        package let date: String
        /// The name of the file with the authorities' certificates, in PEM.
        package let trust: String
        /// The name of the file with the authorities' revocation lists, in PEM.
        package let revocations: String
        /// The key that opens the encrypted messages.
        package let recipient: Recipient
        /// The messages. Those without a defect are first.
        package let messages: [Message]
    }

    /// The name of the document with the expected behaviour.
    package static let filename = "expected.json"

    /// The name and bytes of every file of the suite, including `expected.json`.
    package let files: [(name: String, bytes: [UInt8])]
    /// The contents of `expected.json`.
    package let expectations: Expectations

    /// Writes messages whose senders and recipient are certified by new authorities.
    ///
    /// - Parameters:
    ///   - vectors: The test vectors. Each message is independent of the others.
    ///   - settings: The settings. The person is the sender, and the password is that of the recipient's file.
    ///   - scratch: The folder for unnamed temporary files.
    ///   - width: The number of messages that are written in parallel.
    /// - Throws: `OpenSSLError`, `CertificateError`, `CMSError`, `PKCS12Error` or `FileError` if the material cannot be
    ///   generated.
    package init(
        _ vectors: [MessageVector] = MessageVector.all, _ settings: TestVectorSuite.Settings, scratch: String,
        width: Int
    ) async throws {
        var settings = settings
        settings.source = settings.source.child("messages")
        let context = try TestVectorContext(settings, algorithm: .rsa(bits: 2048))
        let identities = try MessageMaterial.Identities(in: context)
        let material = MessageMaterial(identities, in: context, scratch: scratch)
        let messages = try await vectors.concurrentMap(width: width) { vector in
            (name: vector.file, bytes: try vector.message(material))
        }
        expectations = Expectations(
            version: 1, date: settings.date.formatted(.iso8601), trust: "trust.pem",
            revocations: "revocations.pem",
            recipient: .init(file: "recipient.p12", password: settings.password),
            messages: vectors.map { .init($0) })
        files =
            try messages
            + context.pkiFiles(
                trust: expectations.trust, revocations: expectations.revocations,
                revoked: [identities.revoked.certificate])
            + [
                (expectations.recipient.file, context.file(identities.recipient)),
                (Self.filename, TestVectorSuite.encoded(expectations)),
            ]
    }
}

extension MessageVectorSuite.Expectations.Message {
    fileprivate init(_ vector: MessageVector) {
        let entry = vector.entry(password: nil)
        self.init(
            name: vector.name, file: vector.file, description: vector.summary,
            behaviour: vector.expectedBehaviour, why: vector.reason, expected: entry.expected,
            check: vector.check)
    }
}
