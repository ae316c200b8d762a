internal import SecretMemory
package import Foundation
package import OpenSSL
internal import KeySharing

/// The files of test vectors, with a manifest that says what a correct consumer makes of each.
package struct TestVectorSuite: Sendable {
    /// The part of the manifest about one test vector.
    package struct Entry: Sendable, Codable, Hashable {
        /// What a correct consumer makes of the file, by what it claims to check.
        package struct Outcomes: Sendable, Codable, Hashable {
            /// For a consumer that claims that the file opens.
            package let parse: TestVectorOutcome
            /// For one that claims to find identities too.
            package let identity: TestVectorOutcome
            /// For one that claims to validate the certificates' paths too.
            package let path: TestVectorOutcome

            /// The outcomes of a test vector.
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

        /// The name of the test vector, which stays the same from one version to the next.
        package let name: String
        /// The groups of the test vector.
        package let groups: [TestVectorGroup]
        /// The name of the file; nil for a test vector of the service.
        package let file: String?
        /// The password of the file, which is no secret; nil for none, which differs from the empty one.
        package let password: String?
        /// One sentence about what the test vector is.
        package let summary: String
        /// What a correct consumer does, as a predicate.
        package let expectedBehaviour: String
        /// Why: the section of a standard, or what breaks in the field.
        package let reason: String
        /// What a correct consumer makes of it, by what it claims to check.
        package let expected: Outcomes
        /// Whether a consumer may say that the password is wrong.
        package let mayBlamePassword: Bool

        private enum CodingKeys: String, CodingKey {
            case name, groups, file, password, expected, mayBlamePassword
            case summary = "description"
            case expectedBehaviour = "behaviour"
            case reason = "why"
        }

        /// An entry by its parts.
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

        /// The entry of a test vector that was made, or of one that was not, whose file's name is not known.
        package init(_ vector: TestVector, file: String?, password: String) {
            self.init(
                name: vector.name, groups: vector.groups, file: file,
                password: vector.password.text(ofSuite: password), summary: vector.summary,
                expectedBehaviour: vector.expectedBehaviour,
                reason: vector.reason, expected: Outcomes(vector.outcome),
                mayBlamePassword: vector.mayBlamePassword)
        }
    }

    /// The contents of `manifest.json`; docs/manifest.schema.json describes them.
    package struct Manifest: Sendable, Codable, Hashable {
        /// The version of the manifest's form. Entries and keys may be added to a version, and none goes.
        package let version: Int
        /// The moment for which the expectations hold, in ISO 8601.
        package let date: String
        /// The name of the file with the authorities' certificates, in PEM.
        package let trust: String
        /// The name of the file with the authorities' revocation lists, in PEM.
        package let revocations: String
        /// The test vectors, the sound ones first.
        package let vectors: [Entry]

        /// The version that is written.
        package static let currentVersion = 2

        /// A manifest by its parts.
        package init(date: String, trust: String, revocations: String, vectors: [Entry]) {
            version = Self.currentVersion
            self.date = date
            self.trust = trust
            self.revocations = revocations
            self.vectors = vectors
        }
    }

    /// How the files of a suite are made.
    package struct Settings: Sendable {
        /// The moment for which the expectations hold.
        package var date: Date
        /// The password of the files; a text, because it stands in the manifest.
        package var password: String
        /// Whose credentials they are; nil for a person who is drawn.
        package var person: TestPerson?
        /// How files are protected, unless a test vector says otherwise.
        package var profile = PKCS12Profile.modern
        /// Where keys, signatures, serial numbers and salts come from.
        package var source: RandomSource

        /// The settings of a suite.
        package init(at date: Date, password: String, from source: RandomSource) {
            self.date = date
            self.password = password
            self.source = source
        }
    }

    /// The names and bytes of all files, the manifest among them.
    package let files: [(name: String, bytes: [UInt8])]
    /// What stands in the manifest.
    package let manifest: Manifest

    /// The password of files where none is asked for. It is no secret: the manifest holds it.
    package static let usualPassword = "Test material only"

    /// The period that the authorities of test vectors must be valid for.
    package static func span(at date: Date) -> Range<Date> {
        Calendar.utc.adding(years: -10, to: date)..<Calendar.utc.adding(years: 5, to: date)
    }

    /// Makes test vectors, below authorities of their own.
    ///
    /// - Parameters:
    ///   - vectors: what is made; the files of one are the same whatever others are made.
    ///   - settings: how.
    ///   - width: how many test vectors are made at a time.
    ///   - progress: called for each that is made.
    /// - Throws: `OpenSSLError`, `CertificateError`, `PKCS12Error` or `ZipError` where material cannot be made.
    package init(
        _ vectors: [TestVector] = TestVector.all, _ settings: Settings, width: Int,
        progress: @escaping @Sendable () -> Void = {}
    ) async throws {
        let source = settings.source
        var random = source.child("person").generator()
        let drawn = TestPerson(using: &random)
        let context = TestVectorContext(
            authority: try TestAuthority(
                algorithm: .rsa(bits: 2048), validity: Self.span(at: settings.date), from: source),
            person: settings.person ?? drawn, date: settings.date, algorithm: .p256,
            password: SecretBytes(utf8: settings.password), profile: settings.profile, source: source)
        let made = try await vectors.concurrentMap(width: width) { vector in
            let made = try vector.make(in: context)
            defer { progress() }
            return (file: try made.file(), revoked: made.revoked)
        }
        let lists = try context.authority.revocationLists(
            revoked: made.flatMap(\.revoked).map { IssuanceRecord($0, revoked: settings.date) },
            at: settings.date, from: source)
        manifest = Manifest(
            date: settings.date.formatted(.iso8601), trust: "trust.pem", revocations: "revocations.pem",
            vectors: zip(vectors, made).map { vector, made in
                Entry(vector, file: made.file.name, password: settings.password)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let authorities = context.authority.issuers.map(\.issuer.certificate.pem).joined()
        files =
            made.map(\.file) + [
                (manifest.trust, Array(authorities.utf8)),
                (manifest.revocations, Array(lists.map(\.pem).joined().utf8)),
                ("manifest.json", Array(try encoder.encode(manifest)) + [0x0A]),
            ]
    }
}
