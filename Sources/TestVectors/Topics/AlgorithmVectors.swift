internal import OpenSSL

/// Test vectors with combinations of ciphers, key derivations and digests.
enum AlgorithmVectors {
    static let all: [Drafted] = ciphers + legacy + functions + macs

    private static let pbes2 = "RFC 8018, B.2 defines the cipher, and RFC 7292, 4.2.2 permits any."
    private static let rare = "RFC 8018, B.2 does not list the cipher; some writers offer it."

    private static let ciphers: [Drafted] = [
        cipher("aes128", OID.aes128CBC, 16, .valid(), "AES-128", pbes2),
        cipher(
            "aes192", OID.aes192CBC, 16, .valid(), "AES-192",
            pbes2 + " Java 17 rejects it (go-pkcs12#53 added it)."),
        cipher("des-ede3", OID.tripleDESCBC, 8, .either(.accepted()), "three-key Triple DES", pbes2),
        cipher("des", "1.3.14.3.2.7", 8, .either(.accepted()), "DES", pbes2),
        cipher("camellia256", "1.2.392.200011.61.1.1.1.4", 16, .either(.accepted()), "Camellia-256", rare),
        cipher("aria256", "1.2.410.200046.1.1.12", 16, .either(.accepted()), "ARIA-256", rare),
        Drafted(
            "mixed-encryption", "The certificate is encrypted with 40-bit RC2, and the key with AES-256.",
            .valid(),
            "chooses the algorithm for each layer",
            because: "RFC 7292, 4.1: each layer has its own AlgorithmIdentifier (openssl#12297).",
            "LegacyAlgorithms"
        ) { draft, context in
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndRC2With40Bits, salt: context.octets(8, "legacy"))
        },
        Drafted(
            "unknown-cipher", "The cipher of the certificates has an unknown identifier.", .invalid(4),
            "reports the algorithm and does not blame the password",
            because: "RFC 8018, A.4: the MAC has verified the password, so it cannot be wrong (node#40672).",
            "UnknownAlgorithm"
        ) { draft, _ in
            try draft.safes[0].encryption?.claim([1, 1, 0]) {
                $0 = try .objectIdentifier("1.3.6.1.4.1.99999.3")
            }
        },
        Drafted(
            "unknown-scheme", "The encryption of the key has an unknown identifier.", .invalid(4),
            "reports the algorithm and does not blame the password",
            because:
                "RFC 7292, 4.2.2: the MAC has verified the password, so it cannot be wrong (node#40672).",
            "UnknownAlgorithm"
        ) { draft, _ in
            draft.edit(.safe(1)) {
                try $0.edit([0, 1, 0, 0]) { $0 = try .algorithm("1.3.6.1.4.1.99999.4") }
            }
        },
        Drafted(
            "unknown-mac", "The digest of the MAC has an unknown identifier.", .invalid(4),
            "reports the algorithm and does not blame the password",
            because: "RFC 7292, 4: the digest is free. The password is not the cause.", "UnknownAlgorithm"
        ) { draft, _ in
            draft.edit(.file) { try $0.edit([2, 0, 0]) { $0 = try .algorithm("1.3.6.1.4.1.99999.5") } }
        },
    ]

    private static let appendix = "RFC 7292, C defines the scheme, and old writers used it (openssl#11672)."

    private static let legacy: [Drafted] = [
        scheme(
            "rc4-128", "1.2.840.113549.1.12.1.1", .either(.accepted()), "RC4 with 128 bits",
            appendix + " Mbed TLS rejects it (mbedtls#1700)."),
        scheme("rc4-40", "1.2.840.113549.1.12.1.2", .either(.accepted()), "RC4 with 40 bits", appendix),
        scheme(
            "two-key-3des", "1.2.840.113549.1.12.1.4", .either(.accepted()), "two-key Triple DES", appendix),
        scheme("rc2-128", "1.2.840.113549.1.12.1.5", .either(.accepted()), "RC2 with 128 bits", appendix),
        scheme(
            "md5-des", "1.2.840.113549.1.5.3", .either(.accepted()), "DES with MD5",
            "RFC 8018, A.3 defines the scheme for old applications."),
        scheme(
            "sha1-des", "1.2.840.113549.1.5.10", .either(.accepted()), "DES with SHA-1",
            "RFC 8018, A.3 defines the scheme for old applications."),
    ]

    private static let functions: [Drafted] = [
        function("sha1", OID.hmacSHA1, .valid(), "SHA-1", "RFC 8018, B.1.1: HMAC-SHA-1 is the default."),
        function("sha224", "1.2.840.113549.2.8", .valid(), "SHA-224", hmac),
        function("sha384", "1.2.840.113549.2.10", .valid(), "SHA-384", hmac),
        function("sha512", "1.2.840.113549.2.11", .valid(), "SHA-512", hmac),
        function("sha512-256", "1.2.840.113549.2.13", .either(.accepted()), "SHA-512/256", hmac),
        Drafted(
            "prf-default", "PBKDF2 omits its HMAC, whose default is HMAC-SHA-1.", .valid(),
            "uses the default",
            because: "RFC 8018, A.2: the default is HMAC-SHA-1.", "UnusualAlgorithms"
        ) { draft, context in
            draft.safes[0].encryption = try .pbes2(
                vector: context.octets(16, "vector"), salt: context.octets(16, "salt"), function: nil)
        },
        Drafted(
            "prf-without-null", "The HMAC in PBKDF2 has no parameters instead of NULL.", .either(.accepted()),
            "opens or rejects it", because: "RFC 8018, B.1.2 requires NULL, and some writers omit it.",
            "UnusualAlgorithms"
        ) { draft, _ in
            try draft.safes[0].encryption?.claim([1, 0, 1, 2]) { $0.children.removeLast() }
        },
        Drafted(
            "scrypt", "The key derivation of the certificates is scrypt.", .either(.accepted()),
            "derives the key, or reports the algorithm",
            because: "RFC 7914, 7 defines the identifier. OpenSSL writes it with -scrypt.", "Scrypt"
        ) { draft, context in
            draft.safes[0].encryption = try .scrypt(
                vector: context.octets(16, "vector"), salt: context.octets(16, "salt"), cost: 16_384)
        },
        Drafted(
            "scrypt-bomb", "The key derivation is scrypt, and needs 1 TiB of memory.", .invalid(10),
            "checks the parameters before the derivation",
            because:
                "RFC 7914, 2: memory is proportional to the parameters, which the file's author chooses (deno#34438).",
            "Scrypt", "ExcessiveIterations"
        ) { draft, context in
            draft.safes[0].encryption = try .scrypt(
                vector: context.octets(16, "vector"), salt: context.octets(16, "salt"), cost: 1_024)
            try draft.safes[0].encryption?.claim([1, 0, 1, 1]) { $0 = try .integer(1 << 30) }
        },
    ]

    private static let hmac = "RFC 8018, B.1.2 defines the HMAC (go-pkcs12#16)."

    private static let macs: [Drafted] = [
        mac("sha1", OID.sha1, .valid(), "SHA-1", "RFC 7292, 5.1: most files before 2021 have this MAC."),
        mac("sha224", "2.16.840.1.101.3.4.2.4", .valid(), "SHA-224", digest),
        mac("sha384", "2.16.840.1.101.3.4.2.2", .valid(), "SHA-384", digest),
        mac("sha512", "2.16.840.1.101.3.4.2.3", .valid(), "SHA-512", digest),
        mac("sha512-256", "2.16.840.1.101.3.4.2.6", .either(.accepted()), "SHA-512/256", listedDigest),
        mac("sha3-256", "2.16.840.1.101.3.4.2.8", .either(.accepted()), "SHA3-256", rareDigest),
        mac("md5", "1.2.840.113549.2.5", .either(.accepted()), "MD5", rareDigest),
    ]

    private static let digest =
        "RFC 7292, A lists the digest. The block of SHA-384 and SHA-512 has 128 octets in B.2."
    private static let listedDigest = "RFC 7292, A lists the digest, and few readers support it."
    private static let rareDigest = "RFC 7292, A does not list the digest."

    private static func cipher(
        _ name: String, _ cipher: String, _ vectorLength: Int, _ verdict: Drafted.Verdict, _ title: String,
        _ reason: String
    ) -> Drafted {
        Drafted(
            "cipher-\(name)", "All layers use PBES2 with \(title).", verdict, "opens it", because: reason,
            "UnusualAlgorithms"
        ) { draft, context in
            func encryption(_ part: String) throws -> PKCS12Draft.Encryption {
                try .pbes2(
                    cipher, vector: context.octets(vectorLength, "vector \(part)"),
                    salt: context.octets(16, "salt \(part)"))
            }
            try draft.encryptAll(encryption)
        }
    }

    private static func scheme(
        _ name: String, _ scheme: String, _ verdict: Drafted.Verdict, _ title: String, _ reason: String
    ) -> Drafted {
        Drafted(
            "scheme-\(name)", "All layers use \(title).", verdict, "opens it, or reports the algorithm",
            because: reason, "LegacyAlgorithms"
        ) { draft, context in
            try draft.encryptAll { try .pbes1(scheme, salt: context.octets(8, "salt \($0)")) }
        }
    }

    private static func function(
        _ name: String, _ function: String, _ verdict: Drafted.Verdict, _ title: String, _ reason: String
    ) -> Drafted {
        Drafted(
            "prf-\(name)", "PBKDF2 uses HMAC-\(title).", verdict, "opens it", because: reason,
            "UnusualAlgorithms"
        ) { draft, context in
            try draft.encryptAll {
                try .pbes2(
                    vector: context.octets(16, "vector \($0)"), salt: context.octets(16, "salt \($0)"),
                    function: function)
            }
        }
    }

    private static func mac(
        _ name: String, _ digest: String, _ verdict: Drafted.Verdict, _ title: String, _ reason: String
    ) -> Drafted {
        Drafted(
            "mac-\(name)", "The MAC uses \(title).", verdict, "opens it", because: reason, "UnusualAlgorithms"
        ) { draft, context in
            draft.mac = .pkcs12(digest: digest, salt: context.octets(16, "MAC"), iterations: 2_048)
        }
    }
}

extension PKCS12Draft {
    /// Encrypts the first safe and the first key with other algorithms.
    mutating func encryptAll(_ encryption: (_ part: String) throws -> Encryption) rethrows {
        safes[0].encryption = try encryption("certificates")
        if case .shroudedKey(let info, _) = safes[1].bags[0].value {
            safes[1].bags[0].value = .shroudedKey(info, try encryption("key"))
        }
    }
}

extension PKCS12Draft.Encryption {
    /// Changes an AlgorithmIdentifier, but not the encryption. `path` leads to the changed element.
    ///
    /// - Throws: `BERElement.NoSuchElement` if the path leads to no element.
    mutating func claim(_ path: [Int], _ change: (inout BERElement) throws -> Void) throws {
        var algorithm = claimed ?? algorithm
        try algorithm.edit(path, change)
        claimed = algorithm
    }
}
