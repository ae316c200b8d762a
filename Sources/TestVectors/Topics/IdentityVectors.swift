internal import KeySharing
internal import OpenSSL
internal import TestCredentials

/// Test vectors with several identities, with duplicates, and with chains in different orders.
enum IdentityVectors {
    static let all: [Drafted] = several + duplicates + chains

    private static let many = "RFC 7292, 4.2: a file may contain several keys (pyopenssl#895, go-pkcs12#8)."

    private static let several: [Drafted] = [
        vector(
            "three-identities", "The file contains three identities.", 3, many, "SeveralIdentities", count: 3
        ) {
            _ in
        },
        vector(
            "ten-identities", "The file contains ten identities.", 10, many, "SeveralIdentities", count: 10
        ) {
            _ in
        },
        vector(
            "keys-in-reverse", "The keys are in the reverse order of the certificates.", 3, many,
            "SeveralIdentities", count: 3
        ) { $0.safes[1].bags.reverse() },
        vector(
            "interleaved-bags", "Keys and certificates alternate in one safe.", 2, many, "SeveralIdentities",
            count: 2
        ) { draft in
            let pairs = zip(draft.safes[1].bags, draft.safes[0].bags)
            draft.safes = [.init(pairs.flatMap { [$0, $1] }, draft.safes[0].encryption)]
        },
        vector(
            "same-names", "Two identities have the same friendly name and no localKeyIDs.", 2,
            many + " A reader that pairs by name confuses them.", "SeveralIdentities", count: 2
        ) { $0.remove(OID.localKeyID) },
        vector(
            "same-local-key-ids", "Two identities have the same localKeyID.", 2,
            "RFC 7292, 4.2: the public key identifies the certificate. Apple's importer ignores the second (Dart-Basic-Utils#119).",
            "LocalKeyId", count: 2
        ) { $0.replace(OID.localKeyID, .octetString([1])) },
        vector(
            "crossed-local-key-ids", "The localKeyIDs of two keys are exchanged.", 2,
            "RFC 7292, 4.2: a key belongs to the certificate with its public key. Windows pairs by localKeyID (dotnet/runtime#45696).",
            "KeyMismatch", count: 2, isEither: true
        ) { draft in
            let bags = draft.safes[1].bags
            draft.safes[1].bags[0].attributes = bags[1].attributes
            draft.safes[1].bags[1].attributes = bags[0].attributes
        },
        vector(
            "pair-without-attributes", "Two identities have no attributes.", 2, many, "SeveralIdentities",
            count: 2
        ) { draft in
            for safe in draft.safes.indices {
                for bag in draft.safes[safe].bags.indices { draft.safes[safe].bags[bag].attributes = nil }
            }
        },
    ]

    private static let repeated =
        "RFC 7292, 4.2 does not forbid duplicates (dotnet/runtime#45715, p12-keystore#5)."

    private static let duplicates: [Drafted] = [
        vector("duplicate-certificate", "The certificate is in the file twice.", 1, repeated, "Duplicates") {
            $0.safes[0].bags.append($0.safes[0].bags[0])
        },
        vector("duplicate-key", "The key is in the file twice.", 1, repeated, "Duplicates") {
            $0.safes[1].bags.append($0.safes[1].bags[0])
        },
        vector("duplicate-identity", "Key and certificate are in the file twice.", 1, repeated, "Duplicates")
        {
            for index in $0.safes.indices { $0.safes[index].bags += $0.safes[index].bags }
        },
        Drafted(
            "renewed-certificate", "One key has two certificates.", .either(.accepted(2)),
            "imports an identity for each certificate, or one",
            because:
                "RFC 7292, 4.2: a certificate may be renewed with its key. Readers differ (dogtagpki/pki#58).",
            "Duplicates", "SeveralIdentities"
        ) { draft, context in
            let first = try context.identity()
            let second = try context.identity { $0.serialNumber += [1] }
            guard second.certificate != first.certificate else { return }
            draft.safes[0].bags.append(
                .init(.certificate(second.certificate.der), draft.safes[0].bags[0].attributes))
        },
    ]

    private static let order =
        "RFC 7292, 4.2 does not order certificates (openssl#6698, openssl#16927, pyca#5872, go-pkcs12#54)."

    private static let chains: [Drafted] = [
        chain("chain-after-leaf", "The issuers follow the certificate.") { $0 + $1 },
        chain("chain-before-leaf", "The issuers precede the certificate.") { $1 + $0 },
        chain("chain-root-first", "The root is first, and the certificate is last.") { $1.reversed() + $0 },
        chain("chain-root-last-twice", "The root is in the file twice.") { $0 + $1 + $1.suffix(1) },
        chain("chain-around-leaf", "The certificate is between its issuers.") {
            $1.prefix(1) + $0 + $1.dropFirst()
        },
        Drafted(
            "chain-with-local-key-ids", "The issuers have the localKeyID of the key.", .valid(),
            "imports one identity",
            because:
                "RFC 7292, 4.2: the public key identifies the certificate. Apple's importer rejects such files (Dart-Basic-Utils#119).",
            "LocalKeyId"
        ) { draft, context in
            draft.safes[0].bags += issuers(context).map {
                .init(.certificate($0), draft.safes[0].bags[0].attributes)
            }
        },
        Drafted(
            "unrelated-certificate", "The file also contains the certificate of another person.", .valid(),
            "imports one identity", because: order, "CertificateOrder"
        ) { draft, context in
            let other = try context.identity(part: "other", person: context.otherPerson())
            draft.safes[0].bags.insert(.init(.certificate(other.certificate.der)), at: 0)
        },
        Drafted(
            "sixty-certificates", "The file contains sixty certificates.", .either(.accepted()),
            "imports one identity, or rejects the number of certificates",
            because: "RFC 7292 sets no limit. .NET's limit is 200 certificates.", "CertificateOrder"
        ) { draft, context in
            let issuer = context.authority[.root].certificate.der
            draft.safes[0].bags += [PKCS12Draft.Bag](repeating: .init(.certificate(issuer)), count: 59)
        },
    ]

    private static func issuers(_ context: TestVectorContext) -> [[UInt8]] {
        [context.authority[.email].certificate.der, context.authority[.root].certificate.der]
    }

    private static func chain(
        _ name: String, _ summary: String,
        _ arrange: @escaping @Sendable ([PKCS12Draft.Bag], [PKCS12Draft.Bag]) -> [PKCS12Draft.Bag]
    ) -> Drafted {
        Drafted(name, summary, .valid(), "imports one identity", because: order, "CertificateOrder") {
            draft, context in
            draft.safes[0].bags = arrange(
                draft.safes[0].bags, issuers(context).map { PKCS12Draft.Bag(.certificate($0)) })
        }
    }

    /// A test vector with several identities of the same holder.
    private static func vector(
        _ name: String, _ summary: String, _ identities: Int, _ reason: String, _ flag: String,
        count: Int = 1,
        isEither: Bool = false, _ change: @escaping @Sendable (inout PKCS12Draft) -> Void
    ) -> Drafted {
        Drafted(
            name, summary, isEither ? .either(.accepted(identities)) : .valid(identities),
            identities == 1 ? "imports one identity" : "imports all identities", because: reason, flag
        ) { draft, context in
            draft = try context.draft(
                try (0..<count).map { try context.identity(part: "identity \($0)") })
            change(&draft)
        }
    }
}
