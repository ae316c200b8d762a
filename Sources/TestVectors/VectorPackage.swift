internal import Foundation
internal import OpenSSL
internal import SecretMemory
internal import StandardExtensions

/// The PKCS #12 files of a suite in one JSON document in the style of Wycheproof: `pkcs12-vectors.json`, as specified
/// in docs/pkcs12-vectors.schema.json. The document does not contain archives.
package struct VectorPackage: Sendable, Encodable {
    /// The expected result of a test.
    package enum Result: String, Sendable, Encodable {
        /// The file opens and contains exactly the listed identities.
        case valid
        /// The file must be rejected.
        case invalid
        /// Accepting and rejecting are both defensible.
        case acceptable
    }

    /// An identity, represented by the digests of its certificate and public key.
    package struct Identity: Sendable, Encodable {
        /// The SHA-256 digest of the certificate's DER encoding.
        let certificateSha256: String
        /// The SHA-256 digest of the public key's DER encoding (SubjectPublicKeyInfo). The private key must match this
        /// public key.
        let publicKeySha256: String
    }

    /// One test: a file and its expected result.
    package struct Test: Sendable, Encodable {
        /// The number of the test in this document. It changes between versions; the name does not.
        package let tcId: Int
        /// The name of the test vector.
        package let name: String
        /// One sentence that describes the file.
        let comment: String
        /// The flags of the test: keys of `notes`.
        package let flags: [String]
        /// The bytes of the file, in hexadecimal.
        package let p12: String
        /// The file's password. Nil means an absent password, which differs from the empty one and is encoded as null.
        let password: String?
        /// The expected result.
        package let result: Result
        /// The identities, in the order of the file. Empty for an invalid file.
        package let identities: [Identity]

        private enum CodingKeys: CodingKey {
            case tcId, name, comment, flags, p12, password, result, identities
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(tcId, forKey: .tcId)
            try container.encode(name, forKey: .name)
            try container.encode(comment, forKey: .comment)
            try container.encode(flags, forKey: .flags)
            try container.encode(p12, forKey: .p12)
            // Not encodeIfPresent: a missing key could be mistaken for the empty password.
            try container.encode(password, forKey: .password)
            try container.encode(result, forKey: .result)
            try container.encode(identities, forKey: .identities)
        }
    }

    /// Tests whose files use the same algorithms.
    package struct TestGroup: Sendable, Encodable {
        /// The kind of test.
        let type = "Pkcs12Import"
        /// The profile that has these algorithms; `other` if no profile does, or `unreadable` if the structure of the
        /// files cannot be read.
        package let profile: String
        /// The encryption schemes of the files, without iteration counts.
        let encryption: [String]
        /// The algorithm of the files' MAC, or `none`.
        let mac: String
        /// The tests, in the order of the suite.
        package var tests: [Test]

        private enum CodingKeys: CodingKey { case type, profile, encryption, mac, tests }
    }

    private let algorithm = "PKCS12"
    private let schema = "pkcs12-vectors.schema.json"
    private let header: [String]
    private let date: String
    private let trust: String
    private let revocations: String
    /// The number of tests in all groups.
    package let numberOfTests: Int
    /// The notes for the flags that the tests use.
    package let notes: [String: VectorNote]
    /// The tests, in groups by their algorithms.
    package private(set) var testGroups: [TestGroup] = []

    private enum CodingKeys: CodingKey {
        case algorithm, schema, header, date, trust, revocations, numberOfTests, notes, testGroups
    }

    /// Creates the document of a suite.
    ///
    /// - Parameters:
    ///   - suite: The suite.
    ///   - vectors: The test vectors that the suite was generated from. Archives are skipped.
    package init(_ suite: TestVectorSuite, of vectors: [TestVector]) {
        let bytes = Dictionary(suite.files.map { ($0.name, $0.bytes) }) { first, _ in first }
        func text(_ name: String) -> String { String(decoding: bytes[name] ?? [], as: UTF8.self) }
        header = [
            "Test vectors for programs that read PKCS #12 files (RFC 7292).",
            "The keys are test material. The result does not include the validation of certificates.",
        ]
        date = suite.manifest.date
        (trust, revocations) = (text(suite.manifest.trust), text(suite.manifest.revocations))
        var profiles: [Algorithms: String] = [:]
        var places: [Algorithms: Int] = [:]
        var count = 0
        for (vector, entry) in zip(vectors, suite.manifest.vectors) {
            guard let file = entry.file, file.hasSuffix(".p12"), let bytes = bytes[file] else { continue }
            let contents = PKCS12.inspect(
                bytes, password: entry.password.map { .text(SecretBytes(utf8: $0)) } ?? .absent
            ).contents
            let algorithms = Algorithms(contents)
            // The first test vectors, `signature-PROFILE`, include one file for each profile, so they identify the
            // algorithms of each profile.
            if vector.name.hasPrefix("signature-"), profiles[algorithms] == nil {
                profiles[algorithms] = String(vector.name.dropFirst("signature-".count))
            }
            count += 1
            let test = Test(vector, entry, number: count, bytes: bytes, contents: contents)
            if let place = places[algorithms] {
                testGroups[place].tests.append(test)
            } else {
                places[algorithms] = testGroups.count
                testGroups.append(
                    TestGroup(
                        profile: algorithms.isUnreadable ? "unreadable" : profiles[algorithms] ?? "other",
                        encryption: algorithms.encryption, mac: algorithms.mac, tests: [test]))
            }
        }
        numberOfTests = count
        let flags = Set(testGroups.flatMap(\.tests).flatMap(\.flags))
        notes = VectorNote.all.filter { flags.contains($0.key) }
    }

    /// Encodes the JSON document. The same suite always produces the same bytes.
    ///
    /// - Throws: `EncodingError`, which does not happen for these types.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [0x0A]
    }
}

/// The encryption schemes and the MAC algorithm that protect a file.
private struct Algorithms: Hashable {
    let encryption: [String]
    let mac: String
    let isUnreadable: Bool

    init(_ contents: PKCS12Contents) {
        let schemes = contents.layers.map { layer in
            layer.description.split(separator: " ").filter { Int($0) == nil }.joined(separator: " ")
        }
        encryption = Set(schemes).sorted()
        mac = contents.mac?.algorithm ?? "none"
        isUnreadable = contents.safeCount == 0 && contents.mac == nil
    }
}

extension VectorPackage.Test {
    fileprivate init(
        _ vector: TestVector, _ entry: TestVectorSuite.Entry, number: Int, bytes: [UInt8],
        contents: PKCS12Contents
    ) {
        tcId = number
        name = vector.name
        comment = vector.summary
        flags = vector.flags
        p12 = bytes.upperHex.lowercased()
        password = entry.password
        let result = VectorPackage.Result(entry.expected)
        self.result = result
        identities =
            result == .invalid
            ? []
            : contents.identities.map { identity in
                VectorPackage.Identity(
                    certificateSha256: identity.certificate.sha256.upperHex.lowercased(),
                    publicKeySha256: Digest.sha256(identity.certificate.publicKey.spki).upperHex.lowercased())
            }
    }
}

extension VectorPackage.Result {
    /// Derives the expected result for a consumer that opens files and returns identities, but does not validate
    /// certificates.
    fileprivate init(_ expected: TestVectorSuite.Entry.Outcomes) {
        self =
            switch (expected.parse.answer, expected.identity.answer) {
            case (.accept, .accept): .valid
            case (.refuse, .refuse): .invalid
            default: .acceptable
            }
    }
}
