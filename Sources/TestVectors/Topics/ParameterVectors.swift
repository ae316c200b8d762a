internal import OpenSSL

/// Test vectors with unusual or wrong salts, key lengths, initialization vectors and MAC values.
enum ParameterVectors {
    static let all: [Drafted] = keyLengths + salts + values

    private static let nss =
        "NSS before 3.30 wrote 32 octets for every AES cipher and used AES-256. RFC 8018, A.2: the length is that of the key."

    private static let keyLengths: [Drafted] = [
        encrypted(
            "key-length-32", "PBKDF2 declares the key length of AES-256.", .valid(),
            "RFC 8018, A.2: the key length is optional (bc-java#281, youmark/pkcs8#46)."
        ) { .init(cipher: OID.aes256CBC, keyLength: 32) },
        encrypted(
            "key-length-16", "PBKDF2 declares the key length of AES-128.", .valid(),
            "RFC 8018, A.2: the key length is optional (bc-java#281, youmark/pkcs8#46)."
        ) { .init(cipher: OID.aes128CBC, keyLength: 16) },
        encrypted(
            "nss-key-length-128",
            "The cipher is AES-128, and PBKDF2 declares a key of 32 octets, which AES-256 uses.",
            .either(.accepted()), nss
        ) { .init(cipher: OID.aes128CBC, keyLength: 32) },
        encrypted(
            "nss-key-length-192",
            "The cipher is AES-192, and PBKDF2 declares a key of 32 octets, which AES-256 uses.",
            .either(.accepted()), nss
        ) { .init(cipher: OID.aes192CBC, keyLength: 32) },
        claimed(
            "short-key-length", "The cipher is AES-256, and PBKDF2 declares a key of 16 octets.",
            "RFC 8018, B.2.5: AES-256 has a key of 32 octets."
        ) { try $0.insert(at: [1, 0, 1], 2, .integer(16)) },
        claimed(
            "zero-key-length", "PBKDF2 declares a key of zero octets.",
            "RFC 8018, A.2: the key length is at least 1."
        ) { try $0.insert(at: [1, 0, 1], 2, .integer(0)) },
    ]

    private static let salts: [Drafted] = [
        Drafted(
            "mac-empty-salt", "The salt of the MAC is empty.", .either(.accepted()), "opens or rejects it",
            because: "RFC 7292, 4 sets no minimum. Apple's importer rejects an empty salt.", "SaltLength"
        ) { draft, _ in draft.mac = .pkcs12(digest: OID.sha256, salt: [], iterations: 2_048) },
        macSalt(1), macSalt(64), macSalt(1_024),
        Drafted(
            "pbkdf2-empty-salt", "The salt of PBKDF2 is empty.", .either(.accepted()), "opens or rejects it",
            because: "RFC 8018, 4.1 recommends at least 8 octets, and A.2 sets no minimum.", "SaltLength"
        ) { draft, context in
            draft.safes[0].encryption = try .pbes2(vector: context.octets(16, "vector"), salt: [])
        },
        Drafted(
            "pbkdf2-long-salt", "The salt of PBKDF2 has 1,024 octets.", .valid(), "opens it",
            because: "RFC 8018, A.2 sets no maximum.", "SaltLength"
        ) { draft, context in
            draft.safes[0].encryption = try .pbes2(
                vector: context.octets(16, "vector"), salt: context.octets(1_024, "salt"))
        },
    ]

    private static let values: [Drafted] = [
        claimed(
            "short-vector", "The initialization vector of AES has 8 octets.",
            "RFC 8018, B.2.5: the vector has 16 octets."
        ) { try $0.edit([1, 1, 1]) { $0.octets = Array($0.octets.prefix(8)) } },
        claimed(
            "long-vector", "The initialization vector of AES has 32 octets.",
            "RFC 8018, B.2.5: the vector has 16 octets. A reader that copies it overflows a buffer."
        ) { try $0.edit([1, 1, 1]) { $0.octets += $0.octets } },
        claimed(
            "no-vector", "The parameters of AES are NULL.", "RFC 8018, B.2.5: the parameter is the vector."
        ) { try $0.edit([1, 1, 1]) { $0 = .null } },
        mac(
            "truncated-mac", "The value of the MAC is truncated to 16 octets.", 5,
            "RFC 7292, 5.1: the MAC has the length of the digest."
        ) { $0.octets = Array($0.octets.prefix(16)) },
        mac(
            "empty-mac", "The value of the MAC has no octets.", 5,
            "RFC 7292, 5.1: a comparison of no octets accepts every password."
        ) { $0.octets = [] },
        mac(
            "long-mac", "Ten octets follow the value of the MAC.", 5,
            "RFC 7292, 5.1: the MAC has the length of the digest."
        ) { $0.octets += [UInt8](repeating: 0, count: 10) },
        mac(
            "wrong-mac", "The last bit of the MAC is flipped.", 3,
            "RFC 7292, 5.1: the MAC is compared as a whole."
        ) { $0.octets[$0.octets.count - 1] ^= 1 },
        Drafted(
            "partial-ciphertext", "The last octet of the ciphertext of the certificates is missing.",
            .invalid(5), "reports it as malformed and does not blame the password",
            because: "RFC 8018, 6.2: the ciphertext consists of whole blocks.", "DamagedContents"
        ) { draft, _ in
            draft.edit(.authenticatedSafe, [0, 1, 0, 1, 2]) { $0.octets.removeLast() }
        },
        Drafted(
            "empty-ciphertext", "The ciphertext of the certificates is empty.", .invalid(5),
            "reports it as malformed and does not blame the password",
            because: "RFC 8018, 6.2: the padding adds at least one octet.", "DamagedContents"
        ) { draft, _ in draft.edit(.authenticatedSafe, [0, 1, 0, 1, 2]) { $0.octets = [] } },
    ]

    private struct Parameters {
        let cipher: String
        let keyLength: Int
    }

    private static func encrypted(
        _ name: String, _ summary: String, _ verdict: Drafted.Verdict, _ reason: String,
        _ parameters: @escaping @Sendable () -> Parameters
    ) -> Drafted {
        Drafted(name, summary, verdict, "opens it", because: reason, "KeyLength") { draft, context in
            let parameters = parameters()
            try draft.encryptAll {
                try .pbes2(
                    parameters.cipher, vector: context.octets(16, "vector \($0)"),
                    salt: context.octets(16, "salt \($0)"), keyLength: parameters.keyLength)
            }
        }
    }

    /// A test vector that declares a wrong AlgorithmIdentifier for the certificates.
    private static func claimed(
        _ name: String, _ summary: String, _ reason: String,
        _ change: @escaping @Sendable (inout BERElement) throws -> Void
    ) -> Drafted {
        Drafted(
            name, summary, .invalid(5), "rejects it and does not blame the password", because: reason,
            "KeyLength"
        ) { draft, _ in try draft.safes[0].encryption?.claim([], change) }
    }

    private static func macSalt(_ count: Int) -> Drafted {
        Drafted(
            "mac-salt-\(count)", "The salt of the MAC has \(count) octet\(count == 1 ? "" : "s").", .valid(),
            "opens it", because: "RFC 7292, B.2 permits salts of any length.", "SaltLength"
        ) { draft, context in
            draft.mac = .pkcs12(digest: OID.sha256, salt: context.octets(count, "MAC"), iterations: 2_048)
        }
    }

    /// A test vector whose MAC value is changed after it is computed.
    private static func mac(
        _ name: String, _ summary: String, _ code: Int, _ reason: String,
        _ change: @escaping @Sendable (inout BERElement) -> Void
    ) -> Drafted {
        Drafted(name, summary, .invalid(code), "rejects it", because: reason, "Integrity") { draft, _ in
            draft.edit(.file, [2, 0, 1], change)
        }
    }
}

extension BERElement {
    /// Inserts an element into the one at a path.
    fileprivate mutating func insert(at path: [Int], _ index: Int, _ element: BERElement) throws {
        try edit(path) { $0.children.insert(element, at: min(index, $0.children.count)) }
    }
}
