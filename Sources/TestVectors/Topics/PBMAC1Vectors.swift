internal import OpenSSL

/// Test vectors with PBMAC1 (RFC 9579, and RFC 9879, which replaces it).
enum PBMAC1Vectors {
    static let all: [Drafted] = algorithms + keyLengths + parameters + mismatches

    private static let sha512 = "1.2.840.113549.2.11"
    private static let sha384 = "1.2.840.113549.2.10"

    /// The path of PBKDF2's parameters in the file: salt, iteration count, key length, HMAC.
    private static let derivation = [2, 0, 0, 1, 0, 1]

    private static let algorithms: [Drafted] = [
        with(
            "pbmac1-sha384", "The MAC is PBMAC1 with HMAC-SHA-384.", .valid(), "opens it",
            because: "RFC 9879, 5 recommends SHA-256, SHA-384 and SHA-512."
        ) { ($0.function, $0.scheme, $0.keyLength) = (sha384, sha384, 48) },
        with(
            "pbmac1-sha512", "The MAC is PBMAC1 with HMAC-SHA-512.", .valid(), "opens it",
            because: "RFC 9579, A.3 contains such a file."
        ) { ($0.function, $0.scheme, $0.keyLength) = (sha512, sha512, 64) },
        with(
            "pbmac1-prf-sha512", "PBMAC1 uses HMAC-SHA-512 in PBKDF2 and HMAC-SHA-256 as the MAC.", .valid(),
            "opens it", because: "RFC 9579, A.2 contains such a file."
        ) { $0.function = sha512 },
        with(
            "pbmac1-prf-sha256", "PBMAC1 uses HMAC-SHA-256 in PBKDF2 and HMAC-SHA-512 as the MAC.", .valid(),
            "opens it",
            because: "RFC 8018, A.5: the identifiers of the two HMACs are independent of each other."
        ) { ($0.scheme, $0.keyLength) = (sha512, 64) },
        with(
            "pbmac1-sha224", "The MAC is PBMAC1 with HMAC-SHA-224.", .either(.accepted()),
            "opens or rejects it",
            because: "RFC 8018, B.1.2 permits it, and RFC 9879, 5 does not recommend it."
        ) {
            let sha224 = "1.2.840.113549.2.8"
            ($0.function, $0.scheme, $0.keyLength) = (sha224, sha224, 28)
        },
        with(
            "pbmac1-sha1", "PBMAC1 uses HMAC-SHA-1.", .either(.accepted()), "opens or rejects it",
            because: "RFC 8018, B.1.1 permits it, and RFC 9879, 7 deprecates it."
        ) { ($0.function, $0.scheme, $0.keyLength) = (OID.hmacSHA1, OID.hmacSHA1, 20) },
        with(
            "pbmac1-sha512-256", "The MAC is PBMAC1 with HMAC-SHA-512/256.", .either(.accepted()),
            "opens or rejects it",
            because: "RFC 8018, B.1.2 permits it, and RFC 9879, 5 does not recommend it."
        ) {
            let truncated = "1.2.840.113549.2.13"
            ($0.function, $0.scheme) = (truncated, truncated)
        },
        Drafted(
            "pbmac1-default-prf", "PBMAC1 omits the HMAC of PBKDF2, whose default is HMAC-SHA-1.",
            .either(.accepted()), "uses the default, or rejects it",
            because: "RFC 8018, A.2: the default is HMAC-SHA-1, which RFC 9879, 7 deprecates.",
            "Pbmac1Parameters"
        ) { draft, context in
            var parameters = PKCS12Draft.PBMAC1(salt: context.octets(16, "MAC"))
            parameters.function = OID.hmacSHA1
            draft.mac = .pbmac1(parameters)
            draft.edit(.file, derivation) { $0.children.removeLast() }
        },
        Drafted(
            "pbmac1-legacy-encryption", "The MAC is PBMAC1, and the layers use Triple DES of RFC 7292.",
            .valid(), "opens it",
            because:
                "RFC 9879, 4 replaces only the MAC. The password has a different encoding for the layers.",
            "Pbmac1", "LegacyAlgorithms"
        ) { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "legacy"))
        },
        Drafted(
            "pbmac1-ber", "The MAC is PBMAC1, and all outer structures have indefinite lengths.", .valid(),
            "opens it", because: "RFC 7292, 5.1 permits BER, and RFC 9879 does not restrict it.", "Pbmac1",
            "BerEncoding"
        ) { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            draft.edit(.file) { $0.makeIndefinite() }
        },
    ]

    private static let keyLengths: [Drafted] = [
        keyLength(20, .valid(), "opens it", "RFC 9879, 9: 20 octets are the minimum."),
        keyLength(
            64, .valid(), "opens it",
            "RFC 9579 permits long keys. OpenSSL's limit is 64 octets (openssl#30246)."),
        keyLength(
            65, .either(.refused(5)), "opens or rejects it",
            "RFC 9579 sets no maximum, and OpenSSL and others reject more than 64 octets (openssl#30246)."),
        keyLength(1, .invalid(5), short, tooShort), keyLength(4, .invalid(5), short, tooShort),
        keyLength(19, .invalid(5), short, tooShort),
        Drafted(
            "pbmac1-no-key-length", "PBMAC1 omits the key length.", .invalid(5), "rejects it",
            because: "RFC 9579, 4 requires the key length, and A.6 contains such a file.", "Pbmac1Parameters"
        ) { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            draft.edit(.file, derivation) { $0.children.remove(at: 2) }
        },
        claimed("pbmac1-zero-key-length", "PBMAC1 declares a key of zero octets.", 2, 0, 5, short, tooShort),
        claimed(
            "pbmac1-huge-key-length", "PBMAC1 declares a key of 2,147,483,647 octets.", 2, 2_147_483_647, 5,
            "checks the length before it derives the key",
            "CVE-2025-11187: OpenSSL 3.4 did not validate the parameters of PBMAC1."),
    ]

    private static let short = "rejects it, because a short key can be guessed without the password"
    private static let tooShort =
        "RFC 9879, 9 and CVE-2026-34181: with a short key, a forged file is accepted under any password (bc-java#2431)."

    private static let parameters: [Drafted] = [
        claimed(
            "pbmac1-iteration-bomb", "PBMAC1 declares 2,147,483,647 iterations.", 1, 2_147_483_647, 10,
            "checks the count before the derivation",
            "An unchecked iteration count occupies a processor for an hour (openssl#21103)."),
        claimed(
            "pbmac1-zero-iterations", "PBMAC1 declares no iterations.", 1, 0, 10,
            "rejects an impossible count", "RFC 8018, A.2: the iteration count is at least 1."),
        claimed(
            "pbmac1-negative-iterations", "PBMAC1 declares minus one iterations.", 1, -1, 10,
            "rejects an impossible count", "RFC 8018, A.2: the iteration count is at least 1."),
        edited(
            "pbmac1-outer-iterations", "The MacData of PBMAC1 declares 2,147,483,647 iterations.", .valid(),
            "ignores the count, because PBMAC1 has its own",
            because: "RFC 9879, 4: the salt and the count of the MacData are ignored."
        ) { $0.children[2] = try .integer(2_147_483_647) },
        edited(
            "pbmac1-empty-outer-salt", "The MacData of PBMAC1 has an empty salt and no count.", .valid(),
            "ignores both, because PBMAC1 has its own",
            because: "RFC 9879, 4: the salt and the count of the MacData are ignored."
        ) { $0.children = [$0.children[0], .octetString([])] },
        edited(
            "pbmac1-truncated-mac", "The value of PBMAC1 is truncated to 16 octets.", .invalid(5),
            "rejects it",
            because:
                "RFC 8018, 7.1: the MAC has the length of the HMAC. A reader that compares fewer octets is easier to deceive."
        ) { try $0.edit([0, 1]) { $0.octets = Array($0.octets.prefix(16)) } },
        edited(
            "pbmac1-empty-mac", "The value of PBMAC1 has no octets.", .invalid(5), "rejects it",
            because: "RFC 8018, 7.1: a comparison of no octets accepts every password."
        ) { try $0.edit([0, 1]) { $0.octets = [] } },
        edited(
            "pbmac1-no-parameters", "The identifier of PBMAC1 has no parameters.", .invalid(5),
            "rejects it and does not crash",
            because: "CVE-2025-11187: OpenSSL 3.4 crashed on incomplete parameters of PBMAC1."
        ) { try $0.edit([0, 0]) { $0.children.removeLast() } },
        edited(
            "pbmac1-unknown-prf", "The HMAC in PBKDF2 of PBMAC1 has an unknown identifier.", .invalid(4),
            "reports the algorithm and does not blame the password",
            because: "RFC 8018, B.1 does not define the identifier."
        ) { try $0.edit([0, 0, 1, 0, 1, 3]) { $0 = try .algorithm("1.2.840.113549.2.99") } },
        edited(
            "pbmac1-scrypt", "PBMAC1 names scrypt as its key derivation, and was computed with PBKDF2.",
            .invalid(4), "reports the algorithm, or that the MAC does not match",
            because: "RFC 8018, A.5: the key derivation of PBMAC1 is PBKDF2."
        ) {
            try $0.edit([0, 0, 1, 0]) {
                $0 = try .algorithm(
                    OID.scrypt,
                    .sequence([
                        .octetString([UInt8](repeating: 7, count: 16)), try .integer(1_024), try .integer(8),
                        try .integer(1), try .integer(32),
                    ]))
            }
        },
    ]

    private static let mismatches: [Drafted] = [
        edited(
            "pbmac1-wrong-prf", "PBMAC1 names HMAC-SHA-512 in PBKDF2, and was computed with HMAC-SHA-256.",
            .invalid(3), "rejects it", because: "RFC 9579, 4: the MAC does not match."
        ) { try $0.edit([0, 0, 1, 0, 1, 3]) { $0 = try .algorithm(sha512) } },
        claimed(
            "pbmac1-wrong-iterations", "PBMAC1 declares one iteration fewer than it was computed with.", 1,
            2_047, 3, "rejects it", "RFC 9579, A.4 contains such a file."),
        edited(
            "pbmac1-wrong-salt", "One bit of the salt of PBMAC1 is flipped.", .invalid(3), "rejects it",
            because: "RFC 9579, A.5 contains such a file."
        ) { try $0.edit([0, 0, 1, 0, 1, 0]) { $0.octets[0] ^= 1 } },
        Drafted(
            "pbmac1-non-ascii-password", "The MAC is PBMAC1, and the password is not ASCII.", .valid(),
            "uses the octets of UTF-8 for PBMAC1", because: "RFC 9879, 6: the password is in UTF-8.",
            "Pbmac1",
            "PasswordEncoding", password: .text("Gr\u{FC}\u{DF}e \u{5BC6}\u{7801}")
        ) { draft, context in draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC"))) },
        Drafted(
            "pbmac1-bmp-password", "The password of PBMAC1 is a BMPString with a terminator.",
            .either(.accepted()), "rejects it, or also tries this encoding",
            because:
                "RFC 9879, 6: the password is in UTF-8. Writers that reuse the code of RFC 7292 encode a BMPString.",
            "Pbmac1Parameters", "PasswordEncoding"
        ) { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            var password = draft.password
            password.octets = password.wide
            draft.macPassword = password
        },
        Drafted(
            "pbmac1-other-password", "The MAC is PBMAC1 with another password.", .invalid(3), "rejects it",
            because: "RFC 9579, 4: the MAC does not match.", "Pbmac1", "Integrity"
        ) { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            draft.macPassword = .init("another")
        },
    ]

    /// A test vector whose PBMAC1 has consistent parameters.
    private static func with(
        _ name: String, _ summary: String, _ verdict: Drafted.Verdict, _ behaviour: String,
        because reason: String, _ change: @escaping @Sendable (inout PKCS12Draft.PBMAC1) -> Void
    ) -> Drafted {
        Drafted(name, summary, verdict, behaviour, because: reason, "Pbmac1") { draft, context in
            var parameters = PKCS12Draft.PBMAC1(salt: context.octets(16, "MAC"))
            change(&parameters)
            draft.mac = .pbmac1(parameters)
        }
    }

    private static func keyLength(
        _ length: Int, _ verdict: Drafted.Verdict, _ behaviour: String, _ reason: String
    ) -> Drafted {
        Drafted(
            "pbmac1-key-length-\(length)", "The key of PBMAC1 has \(length) octet\(length == 1 ? "" : "s").",
            verdict, behaviour, because: reason, "Pbmac1Parameters"
        ) { draft, context in
            var parameters = PKCS12Draft.PBMAC1(salt: context.octets(16, "MAC"))
            parameters.keyLength = length
            draft.mac = .pbmac1(parameters)
        }
    }

    /// A test vector that declares a wrong number in PBKDF2's parameters.
    private static func claimed(
        _ name: String, _ summary: String, _ field: Int, _ number: Int, _ code: Int, _ behaviour: String,
        _ reason: String
    ) -> Drafted {
        edited(name, summary, .invalid(code), behaviour, because: reason) {
            try $0.edit([0, 0, 1, 0, 1, field]) { $0 = try .integer(number) }
        }
    }

    /// A test vector whose MacData is changed after the MAC is computed.
    private static func edited(
        _ name: String, _ summary: String, _ verdict: Drafted.Verdict, _ behaviour: String,
        because reason: String, _ change: @escaping PKCS12Draft.Edit
    ) -> Drafted {
        Drafted(name, summary, verdict, behaviour, because: reason, "Pbmac1Parameters") { draft, context in
            draft.mac = .pbmac1(.init(salt: context.octets(16, "MAC")))
            draft.edit(.file) { try $0.edit([2], change) }
        }
    }
}
