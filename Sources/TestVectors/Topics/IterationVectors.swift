internal import OpenSSL

/// Test vectors with iteration counts at the limits of readers, and with impossible ones.
enum IterationVectors {
    static let all: [Drafted] = limits + layers

    private static let small = "RFC 8018, 4.2 recommends 1,000, and RFC 7292, 4 permits any count."
    private static let bomb =
        "An unchecked iteration count occupies a processor for an hour (golang/go#79798)."

    private static let limits: [Drafted] = [
        mac(2, .valid(), small), mac(1_000, .valid(), small), mac(1_024, .valid(), small),
        mac(100_000, .valid(), "NIST SP 800-132: the count should be as large as is tolerable."),
        mac(300_000, .valid(), ".NET's Pkcs12LoaderLimits permits 300,000 for the MAC."),
        mac(300_001, .either(.accepted()), ".NET's Pkcs12LoaderLimits permits 300,000 for the MAC."),
        mac(600_000, .valid(), "GnuTLS, NSS and PKI.js write 600,000, which OWASP recommends."),
        mac(1_000_001, .either(.accepted()), "golang/crypto#343 proposed a limit of 1,000,000."),
        mac(1_200_000, .either(.accepted()), "Bouncy Castle writes 1,200,000 for the MAC."),
        claimed(
            5_000_001, "Java's and go-pkcs12's limit is 5,000,000 (go-pkcs12#81)."),
        claimed(10_485_761, "GnuTLS's limit is 10,485,760."),
        claimed(
            4_294_967_297,
            "The count is 1 modulo 2 to the power of 32, with which the MAC was computed. " + bomb),
        claimed(2_147_483_648, "The count is negative as a 32-bit number. " + bomb),
    ]

    private static let layers: [Drafted] = [
        Drafted(
            "safe-iteration-bomb", "The encryption of the certificates declares 2,147,483,647 iterations.",
            .invalid(10), "checks the count before the derivation", because: bomb, "ExcessiveIterations"
        ) { draft, _ in
            try draft.safes[0].encryption?.claim([1, 0, 1, 1]) { $0 = try .integer(2_147_483_647) }
        },
        Drafted(
            "key-iteration-bomb", "The encryption of the key declares 2,147,483,647 iterations.",
            .invalid(10),
            "checks the count before the derivation",
            because:
                "The count of a key in an encrypted safe is visible only after decryption (go-pkcs12#81). "
                + bomb,
            "ExcessiveIterations"
        ) { draft, context in
            draft.safes[1].encryption = try context.encryption("keys")
            draft.edit(.safe(1)) {
                try $0.edit([0, 1, 0, 0, 1, 0, 1, 1]) { $0 = try .integer(2_147_483_647) }
            }
        },
        Drafted(
            "safe-zero-iterations", "The encryption of the certificates declares no iterations.",
            .invalid(10),
            "rejects an impossible count", because: "RFC 8018, A.2: the iteration count is at least 1.",
            "InvalidParameters"
        ) { draft, _ in try draft.safes[0].encryption?.claim([1, 0, 1, 1]) { $0 = try .integer(0) } },
        Drafted(
            "safe-negative-iterations", "The encryption of the certificates declares minus one iterations.",
            .invalid(10), "rejects an impossible count",
            because: "RFC 8018, A.2: the iteration count is at least 1.", "InvalidParameters"
        ) { draft, _ in try draft.safes[0].encryption?.claim([1, 0, 1, 1]) { $0 = try .integer(-1) } },
        Drafted(
            "many-derivations", "Thirty keys declare 1,900,000 iterations each.", .invalid(10),
            "limits the sum of all counts",
            because: "A limit for each count does not limit the file (botan#5894). " + bomb,
            "ExcessiveIterations"
        ) { draft, context in
            let key = draft.safes[1].bags[0]
            draft.safes[1].bags = [PKCS12Draft.Bag](repeating: key, count: 30)
            draft.edit(.safe(1)) {
                for index in 0..<30 {
                    try $0.edit([index, 1, 0, 0, 1, 0, 1, 1]) { $0 = try .integer(1_900_000) }
                }
            }
        },
    ]

    private static func mac(_ count: Int, _ verdict: Drafted.Verdict, _ reason: String) -> Drafted {
        Drafted(
            "mac-iterations-\(count)", "The MAC has \(count) iterations.",
            verdict, "opens it, or rejects a count above its limit", because: reason, "IterationCount"
        ) { draft, context in
            draft.mac = .pkcs12(digest: OID.sha256, salt: context.octets(16, "MAC"), iterations: count)
        }
    }

    /// A test vector that declares a count that this package's consumer rejects. The MAC has one iteration.
    private static func claimed(_ count: Int, _ reason: String) -> Drafted {
        Drafted(
            "mac-claims-\(count)", "The MAC declares \(count) iterations, and was computed with one.",
            .invalid(10), "rejects the count, or finds that the MAC does not match", because: reason,
            "ExcessiveIterations"
        ) { draft, context in
            draft.mac = .pkcs12(digest: OID.sha256, salt: context.octets(16, "MAC"), iterations: 1)
            draft.edit(.file) { try $0.edit([2]) { $0.children.append(try .integer(count)) } }
        }
    }
}
