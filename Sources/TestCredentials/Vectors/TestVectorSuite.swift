internal import SecretMemory
package import Foundation
package import OpenSSL
internal import KeySharing

/// The files of all test vectors, with a manifest that says what a correct consumer makes of each.
package struct TestVectorSuite: Sendable {
    /// The part of the manifest about one file.
    package struct Entry: Sendable, Codable, Hashable {
        /// The name of the file.
        package let file: String
        /// The password of the file, which is no secret.
        package let password: String
        /// Whether the test vector is a defective one.
        package let isFault: Bool
        /// One sentence about what the test vector is.
        package let summary: String
        /// What a correct consumer does, as a predicate.
        package let expectedBehaviour: String
        /// The exit codes and results of a correct consumer.
        package let expectation: TestVector.Expectation

        private enum CodingKeys: String, CodingKey {
            case file, password, isFault, expectation
            case summary = "sentence"
            case expectedBehaviour = "duty"
        }
    }

    /// The contents of `manifest.json`.
    package struct Manifest: Sendable, Codable, Hashable {
        /// The moment for which the expectations hold, in ISO 8601.
        package let date: String
        /// The name of the file with the authorities' certificates, in PEM.
        package let trust: String
        /// The name of the file with the authorities' revocation lists, in PEM.
        package let revocations: String
        /// The test vectors, the sound ones first.
        package let files: [Entry]

        /// A manifest by its parts.
        package init(date: String, trust: String, revocations: String, files: [Entry]) {
            self.date = date
            self.trust = trust
            self.revocations = revocations
            self.files = files
        }
    }

    /// The names and bytes of all files, the manifest among them.
    package let files: [(name: String, bytes: [UInt8])]
    /// What stands in the manifest.
    package let manifest: Manifest

    /// The period that the authorities of test vectors must be valid for.
    package static func span(at date: Date) -> Range<Date> {
        Calendar.utc.adding(years: -10, to: date)..<Calendar.utc.adding(years: 5, to: date)
    }

    /// Makes every test vector, below authorities of its own.
    ///
    /// - Parameters:
    ///   - date: the moment for which the expectations hold.
    ///   - password: the password of the files; a text, because it stands in the manifest.
    ///   - source: where keys, signatures, serial numbers and salts come from.
    ///   - width: how many test vectors are made at a time.
    /// - Throws: `OpenSSLError`, `CertificateError`, `PKCS12Error` or `ZipError` where material cannot be made.
    package init(at date: Date, password: String, from source: RandomSource, width: Int) async throws {
        var random = source.child("person").generator()
        let context = TestVectorContext(
            authority: try TestAuthority(
                algorithm: .rsa(bits: 2048), validity: Self.span(at: date), from: source),
            person: TestPerson(using: &random), date: date, algorithm: .p256,
            password: SecretBytes(utf8: password), source: source)
        let vectors = TestVector.sound + TestVector.defective
        let made = try await vectors.concurrentMap(width: width) { vector in
            let made = try vector.make(in: context)
            return (file: try made.file(), revoked: made.revoked)
        }
        let lists = try context.authority.revocationLists(
            revoked: made.flatMap(\.revoked).map { IssuanceRecord($0, revoked: date) }, at: date, from: source
        )
        let defective = Set(TestVector.defective.map(\.name))
        manifest = Manifest(
            date: date.formatted(.iso8601), trust: "trust.pem", revocations: "revocations.pem",
            files: zip(vectors, made).map { vector, made in
                Entry(
                    file: made.file.name, password: vector.isUnderEmptyPassword ? "" : password,
                    isFault: defective.contains(vector.name),
                    summary: vector.summary, expectedBehaviour: vector.expectedBehaviour,
                    expectation: vector.expectation)
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
