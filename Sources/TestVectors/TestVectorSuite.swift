package import Foundation
internal import KeySharing
package import OpenSSL
internal import SecretMemory
internal import StandardExtensions
package import TestCredentials

/// The files of test vectors, with a manifest that describes the correct behaviour for each.
package struct TestVectorSuite: Sendable {
    /// The manifest's entry for one test vector.
    package struct Entry: Sendable, Codable, Hashable {
        /// The expected outcome of a correct consumer for each claim.
        package struct Outcomes: Sendable, Codable, Hashable {
            /// The outcome for a consumer that claims only to open the file.
            package let parse: TestVectorOutcome
            /// The outcome for a consumer that also claims to find identities.
            package let identity: TestVectorOutcome
            /// The outcome for a consumer that also claims to validate the certificates' paths.
            package let path: TestVectorOutcome

            /// Creates the outcomes of a test vector.
            package init(_ outcome: (TestVectorClaim) -> TestVectorOutcome) {
                parse = outcome(.parse)
                identity = outcome(.identity)
                path = outcome(.path)
            }

            /// The outcome for one claim.
            package subscript(claim: TestVectorClaim) -> TestVectorOutcome {
                switch claim {
                case .parse: parse
                case .identity: identity
                case .path: path
                }
            }
        }

        /// The name of the test vector. It never changes between versions.
        package let name: String
        /// The groups that the test vector belongs to.
        package let groups: [TestVectorGroup]
        /// The name of the file; nil for a test vector of the group `service`, which has no file.
        package let file: String?
        /// The password of the file, which is not secret. Nil for no password, which differs from the empty password.
        package let password: String?
        /// One sentence that describes the test vector.
        package let summary: String
        /// The behaviour of a correct consumer, as a phrase that starts with a verb.
        package let expectedBehaviour: String
        /// Why this behaviour is correct: the section of a standard, or the practical consequence.
        package let reason: String
        /// The expected outcome of a correct consumer for each claim.
        package let expected: Outcomes
        /// Whether a consumer may report that the password is wrong. If false, such a report is an incorrect diagnosis.
        package let mayBlamePassword: Bool

        private enum CodingKeys: String, CodingKey {
            case name, groups, file, password, expected, mayBlamePassword
            case summary = "description"
            case expectedBehaviour = "behaviour"
            case reason = "why"
        }

        /// Creates an entry.
        package init(
            name: String, groups: [TestVectorGroup], file: String?, password: String?, summary: String,
            expectedBehaviour: String, reason: String, expected: Outcomes, mayBlamePassword: Bool
        ) {
            self.name = name
            self.groups = groups
            self.file = file
            self.password = password
            self.summary = summary
            self.expectedBehaviour = expectedBehaviour
            self.reason = reason
            self.expected = expected
            self.mayBlamePassword = mayBlamePassword
        }

        /// Creates the entry of a test vector. `file` is nil if no file was generated for it.
        package init(_ vector: TestVector, file: String?, password: String) {
            self.init(
                name: vector.name, groups: vector.groups, file: file,
                password: vector.password.text(ofSuite: password), summary: vector.summary,
                expectedBehaviour: vector.expectedBehaviour,
                reason: vector.reason, expected: Outcomes(vector.outcome),
                mayBlamePassword: vector.mayBlamePassword)
        }
    }

    /// The file that contains the manifest.
    package static let manifestName = "manifest.json"

    /// The contents of `manifest.json`, as specified in docs/manifest.schema.json.
    package struct Manifest: Sendable, Codable, Hashable {
        /// The version of the manifest's format. Entries and keys may be added to a version but are never removed.
        package let version: Int
        /// The date at which certificates are validated for the expected outcomes, in ISO 8601.
        package let date: String
        /// The name of the file with the authorities' certificates, in PEM.
        package let trust: String
        /// The name of the file with the authorities' revocation lists, in PEM.
        package let revocations: String
        /// The test vectors. Those without a defect are first.
        package let vectors: [Entry]

        /// The version of the format that this code writes.
        package static let currentVersion = 3

        /// Creates a manifest.
        package init(date: String, trust: String, revocations: String, vectors: [Entry]) {
            version = Self.currentVersion
            self.date = date
            self.trust = trust
            self.revocations = revocations
            self.vectors = vectors
        }
    }

    /// The settings for generating the files of a suite.
    package struct Settings: Sendable {
        /// The date at which certificates are validated for the expected outcomes.
        package var date: Date
        /// The password of the files. It is a `String` because the manifest contains it and it is not secret.
        package var password: String
        /// The holder of the credentials, or nil to generate a random person.
        package var person: TestPerson?
        /// The encryption profile of files, unless the test vector defines another.
        package var profile = PKCS12Profile.modern
        /// The source of randomness for keys, signatures, serial numbers and salts.
        package var source: RandomSource

        /// Creates the settings of a suite.
        package init(at date: Date, password: String, from source: RandomSource) {
            self.date = date
            self.password = password
            self.source = source
        }
    }

    /// The name and bytes of every file of the suite, including the manifest.
    package let files: [(name: String, bytes: [UInt8])]
    /// The contents of the manifest.
    package let manifest: Manifest

    /// The default password of files. It is not secret, because the manifest contains it.
    package static let usualPassword = "Test material only"

    /// The period for which the authorities of test vectors must be valid.
    package static func span(at date: Date) -> Range<Date> {
        Calendar.utc.adding(years: -10, to: date)..<Calendar.utc.adding(years: 5, to: date)
    }

    /// Generates test vectors whose certificates are issued by new authorities.
    ///
    /// - Parameters:
    ///   - vectors: The test vectors. Each vector's file is independent of the others.
    ///   - settings: The settings for generating the files.
    ///   - width: The number of test vectors that are generated in parallel.
    ///   - progress: Called after each generated test vector.
    /// - Throws: `OpenSSLError`, `CertificateError`, `PKCS12Error` or `ZipError` if the material cannot be generated.
    package init(
        _ vectors: [TestVector] = TestVector.all, _ settings: Settings, width: Int,
        progress: @escaping @Sendable () -> Void = {}
    ) async throws {
        let context = try TestVectorContext(settings)
        let made = try await vectors.concurrentMap(width: width) { vector in
            let made = try vector.make(in: context)
            defer { progress() }
            return (file: try made.file(), revoked: made.revoked)
        }
        manifest = Manifest(
            date: settings.date.formatted(.iso8601), trust: "trust.pem", revocations: "revocations.pem",
            vectors: zip(vectors, made).map { vector, made in
                Entry(vector, file: made.file.name, password: settings.password)
            })
        files =
            try made.map(\.file)
            + context.pkiFiles(
                trust: manifest.trust, revocations: manifest.revocations, revoked: made.flatMap(\.revoked))
            + [(Self.manifestName, Self.encoded(manifest))]
    }

    /// Encodes the document that describes the vectors of a suite.
    static func encoded(_ document: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document)) + [0x0A]
    }
}

extension TestVectorContext {
    /// Returns the files with the authorities' certificates and with their revocation lists, in PEM.
    ///
    /// - Parameters:
    ///   - trust: The name of the file with the certificates.
    ///   - revocations: The name of the file with the revocation lists.
    ///   - revoked: The certificates that are revoked on the date of the context.
    /// - Throws: `CertificateError` if a list cannot be created.
    func pkiFiles(
        trust: String, revocations: String, revoked: [Certificate]
    ) throws(CertificateError) -> [(name: String, bytes: [UInt8])] {
        let lists = try authority.revocationLists(
            revoked: revoked.map { IssuanceRecord($0, revoked: date) }, at: date, from: source)
        let authorities = authority.issuers.map(\.issuer.certificate.pem).joined()
        return [(trust, Array(authorities.utf8)), (revocations, Array(lists.map(\.pem).joined().utf8))]
    }
}
