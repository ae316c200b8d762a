internal import KeySharing
package import OpenSSL
internal import TestCredentials

/// A random change of a PKCS #12 file that respects its structure.
package struct FileMutation: Sendable {
    /// The effect of a mutation.
    enum Change: Sendable {
        /// Changes the draft; encryption and MAC are computed afterwards.
        case draft(@Sendable (inout PKCS12Draft, RandomSource) throws -> Void)
        /// Changes the encoded file.
        case bytes(@Sendable (inout [UInt8], inout RandomSource.Generator) -> Void)
    }

    /// The kind of change, in lower case with hyphens.
    package let kind: String
    /// The change, as a phrase that starts with a verb.
    package let summary: String
    /// Whether the changed file conforms to RFC 7292, so that a consumer should import the same identities.
    package let isLegal: Bool
    let change: Change

    /// Creates a mutation that conforms to RFC 7292.
    static func legal(
        _ kind: String, _ summary: String,
        _ change: @escaping @Sendable (inout PKCS12Draft, RandomSource) throws -> Void
    ) -> FileMutation {
        FileMutation(kind: kind, summary: summary, isLegal: true, change: .draft(change))
    }

    /// Creates a mutation after which the file may be invalid.
    static func illegal(
        _ kind: String, _ summary: String,
        _ change: @escaping @Sendable (inout PKCS12Draft, RandomSource) throws -> Void
    ) -> FileMutation {
        FileMutation(kind: kind, summary: summary, isLegal: false, change: .draft(change))
    }

    /// All mutations that the fuzzer can apply.
    package static let all: [FileMutation] =
        encodings + structures + layouts + attributes + contents + parameters + wholeFile

    /// Whether this mutation by itself makes every file invalid.
    package var isFatal: Bool { Self.fatal.contains(kind) }

    private static let fatal: Set = [
        "trailing-bytes", "mac-removed", "mac-wrong", "mac-truncated", "mac-password", "layer-password",
        "pbmac1-short-key", "mac-iterations-huge", "iterations-huge", "certificates-removed", "keys-removed",
        "key-of-another", "key-damaged",
    ]

    private static let wholeFile: [FileMutation] = [
        FileMutation(
            kind: "trailing-zeroes", summary: "appends up to 5 zero bytes", isLegal: true,
            change: .bytes { bytes, random in
                // A file has up to three mutations, and readers accept 16 zero bytes.
                bytes += [UInt8](repeating: 0, count: Int.random(in: 1...5, using: &random))
            }),
        FileMutation(
            kind: "trailing-bytes", summary: "appends random bytes", isLegal: false,
            change: .bytes { bytes, random in
                bytes += [0x5A] + random.octets(Int.random(in: 1...64, using: &random))
            }),
        FileMutation(
            kind: "truncation", summary: "removes the end of the file", isLegal: false,
            change: .bytes { bytes, random in
                bytes.removeLast(Int.random(in: 1...max(1, bytes.count - 1), using: &random))
            }),
        FileMutation(
            kind: "bit-flip", summary: "flips one bit of the file", isLegal: false,
            change: .bytes { bytes, random in
                guard !bytes.isEmpty else { return }
                bytes[Int.random(in: bytes.indices, using: &random)] ^=
                    1 << UInt8.random(in: 0...7, using: &random)
            }),
    ]
}

/// A valid file that mutations start from.
package struct MutationSeed: Sendable {
    /// The name of the seed.
    package let name: String
    /// The password of the file.
    package let password: String
    /// The certificates of the identities, in DER.
    package let certificates: [[UInt8]]
    let draft: PKCS12Draft

    /// The valid file.
    ///
    /// - Throws: `OpenSSLError` if the file cannot be created.
    package func bytes() throws -> [UInt8] { try draft.bytes() }

    /// Creates the valid files that mutations start from. The first one is the simplest.
    ///
    /// - Throws: `OpenSSLError` or `CertificateError` if the material cannot be generated.
    package static func all(in context: TestVectorContext) throws -> [MutationSeed] {
        let usual = "Test material only"
        func seed(
            _ name: String, _ identities: [TestIdentity], password: String = usual,
            _ change: (inout PKCS12Draft) throws -> Void = { _ in }
        ) throws -> MutationSeed {
            var draft = try context.scoped(to: "fuzz \(name)").draft(identities, .text(password))
            try change(&draft)
            return MutationSeed(
                name: name, password: password, certificates: identities.map(\.certificate.der), draft: draft)
        }
        let ec = try context.scoped(to: "fuzz ec").identity()
        let rsa = try context.scoped(to: "fuzz rsa").identity(.encryption, algorithm: .rsa(bits: 2048))
        let issuers = [context.authority[.email].certificate, context.authority[.root].certificate]
        return [
            try seed("ec", [ec]), try seed("rsa", [rsa]), try seed("two", [rsa, ec]),
            try seed("chain", [rsa]) {
                $0.safes[0].bags += issuers.map { .init(.certificate($0.der)) }
            },
            try seed("triple-des", [rsa]) { draft in
                try draft.encryptAll {
                    try .pbes1(OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "fuzz \($0)"))
                }
                draft.mac = .pkcs12(digest: OID.sha1, salt: context.octets(8, "fuzz MAC"), iterations: 2_048)
            },
            try seed("non-ascii", [ec], password: "Gr\u{FC}\u{DF}e \u{5BC6}\u{7801}"),
        ]
    }
}

/// A mutated file, which a number and a source of randomness determine.
package struct MutatedFile: Sendable {
    /// A mutation with its own randomness, so that it has the same effect without the others.
    package struct Step: Sendable {
        /// The mutation.
        package let mutation: FileMutation
        let source: RandomSource
    }

    /// The valid file.
    package var seed: MutationSeed
    /// The mutations, in the order of their application.
    package var steps: [Step]

    /// Chooses a seed and up to three mutations.
    ///
    /// - Parameters:
    ///   - number: The number of the file.
    ///   - seeds: The valid files; at least one.
    ///   - source: The source of randomness.
    package init(number: Int, of seeds: [MutationSeed], from source: RandomSource) {
        let source = source.child("file \(number)")
        var random = source.generator()
        seed = seeds[Int.random(in: seeds.indices, using: &random)]
        // Most findings need one mutation, and combinations hide each other.
        let count = [1, 1, 1, 2, 2, 3][Int.random(in: 0..<6, using: &random)]
        steps = (0..<count).map { index in
            Step(
                mutation: FileMutation.all[Int.random(in: FileMutation.all.indices, using: &random)],
                source: source.child("step \(index)"))
        }
    }

    /// Whether all mutations conform to RFC 7292.
    package var isLegal: Bool { steps.allSatisfy(\.mutation.isLegal) }

    /// The kinds of mutations, without duplicates.
    package var kinds: [String] { Set(steps.map(\.mutation.kind)).sorted() }

    /// The mutated file. Nil if the mutations cannot be combined, for example if one removes the part that another
    /// changes.
    package func bytes() -> [UInt8]? {
        var draft = seed.draft
        do {
            for step in steps {
                if case .draft(let change) = step.mutation.change { try change(&draft, step.source) }
            }
            var bytes = try draft.bytes()
            for step in steps {
                guard case .bytes(let change) = step.mutation.change else { continue }
                var random = step.source.generator()
                change(&bytes, &random)
            }
            return bytes
        } catch {
            return nil
        }
    }
}
