internal import OpenSSL
extension ReaderModel {
    /// The reader's rules, from its documentation, its source and test runs (scripts/interop).
    var rules: ReaderRules {
        switch self {
        case .openSSL: .openSSL
        case .openSSLLegacy: .openSSLLegacy
        case .openSSLFIPS: .openSSLFIPS
        case .nss: .nss
        case .gnuTLS: .gnuTLS
        case .java: .java
        case .go: .go
        case .apple: .apple
        }
    }
}

extension ReaderRules {
    private static let aes: Set = ["AES-128-CBC", "AES-192-CBC", "AES-256-CBC"]
    private static let camellia: Set = ["CAMELLIA-128-CBC", "CAMELLIA-192-CBC", "CAMELLIA-256-CBC"]
    private static let sha2: Set = ["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"]
    private static let truncatedSHA2: Set = ["SHA-512/224", "SHA-512/256"]
    private static let sha3: Set = ["SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512"]

    fileprivate static let openSSL = ReaderRules(
        schemes: ["12.1.3", "12.1.4"],
        ciphers: aes.union(camellia).union([
            "AES-128-OFB", "AES-192-OFB", "AES-256-OFB", "AES-128-CFB", "AES-192-CFB", "AES-256-CFB",
            "DES-EDE3-CBC", "ARIA-128-CBC", "ARIA-192-CBC", "ARIA-256-CBC", "SM4-CBC",
        ]),
        functions: sha2.union(truncatedSHA2).union(["MD5"]), hasScrypt: true,
        macs: sha2.union(truncatedSHA2).union(sha3).union(["MD5", "RIPEMD-160", "SM3"]), missingMAC: .opens,
        takesKey: \.isKnown)

    fileprivate static let openSSLLegacy: ReaderRules = {
        var rules = openSSL
        rules.schemes.formUnion(["12.1.1", "12.1.2", "12.1.5", "12.1.6", "5.3", "5.6", "5.10", "5.11"])
        rules.ciphers.formUnion([
            "DES-CBC", "DES-OFB", "DES-CFB", "RC2-CBC", "CAST5-CBC", "BF-CBC", "SEED-CBC", "SEED-OFB",
            "SEED-CFB",
        ])
        rules.macs.formUnion(["MD4", "WHIRLPOOL"])
        return rules
    }()

    /// The FIPS provider lacks scrypt and the key derivation of RFC 7292. It can therefore open only files with PBES2
    /// and PBKDF2, protected by PBMAC1 or without a MAC.
    fileprivate static let openSSLFIPS = ReaderRules(
        ciphers: aes.union(["DES-EDE3-CBC"]), functions: sha2.union(truncatedSHA2),
        pbmac1: sha2.union(truncatedSHA2), missingMAC: .opens,
        takesKey: { type in
            if case .ec(let curve) = type { curve.hasPrefix("P-") } else { type == .rsa || type == .dsa }
        })

    /// The rules for importing a file. Listing a file with `pk12util -l` succeeds more often, because keys are not
    /// decrypted.
    ///
    /// An imported key gets the name of the certificate with its localKeyID. If there is no such certificate, the whole
    /// import fails with `SEC_ERROR_PKCS12_UNABLE_TO_IMPORT_KEY`, even if the rest of the file is valid. Keys in the
    /// clear are imported normally.
    fileprivate static let nss = ReaderRules(
        schemes: ["12.1.1", "12.1.2", "12.1.3", "12.1.5", "12.1.6"],
        ciphers: aes.union(camellia).union(["DES-EDE3-CBC", "DES-CBC", "RC2-CBC", "SEED-CBC"]),
        functions: sha2,
        macs: sha2.union(["MD5"]), takesUntiedKeys: false, takesRevocationLists: false,
        takesMislabelledAES: true,
        takesKey: { type in
            if case .ec(let curve) = type {
                ["P-256", "P-384", "P-521"].contains(curve)
            } else {
                type == .rsa || type == .dsa
            }
        })

    /// The rules of `certtool --p12-info`. It shows a nested safe as a bag of unknown type without its contents. The
    /// empty password (`--empty-password`) and no password (`--null-password`) are separate options. libtasn1 rejects
    /// octets after an object, such as those that wolfSSL writes as padding of RC4.
    fileprivate static let gnuTLS = ReaderRules(
        schemes: ["12.1.1", "12.1.3", "12.1.6", "5.3"],
        ciphers: aes.union(["DES-EDE3-CBC", "DES-CBC"]), functions: sha2, macs: sha2,
        takesTrailingOctets: false, triesAbsentPassword: false, takesVersion1Keys: true,
        readsNestedSafes: false,
        iterationLimit: 10 << 20, takesKey: \.isKnown)

    /// The rules for reading a key. Loading the key store without reading a key succeeds more often, because keys are
    /// not decrypted.
    ///
    /// Only bags with encrypted keys and certificates are read. All other bags are skipped silently. A certificate that
    /// nothing links to its key is not found; see `PKCS12Contents.linkedKeys`.
    fileprivate static let java = ReaderRules(
        schemes: ["12.1.1", "12.1.2", "12.1.3", "12.1.5", "12.1.6", "5.3"],
        ciphers: ["AES-128-CBC", "AES-256-CBC"], functions: sha2, macs: sha2.union(truncatedSHA2),
        missingMAC: .opens, takesNonASCII: false, needsLinks: true, takesSecrets: false,
        readsPlainKeys: false,
        readsNestedSafes: false, readsUnmarkedCertificates: false,
        iterationLimit: 5_000_000,
        takesKey: { type in
            if case .ec(let curve) = type {
                ["P-256", "P-384", "P-521"].contains(curve)
            } else {
                type.isKnown
            }
        })

    fileprivate static let go = ReaderRules(
        schemes: ["12.1.3", "12.1.5", "12.1.6"], ciphers: aes, functions: ["SHA-1", "SHA-256", "SHA-512"],
        macs: ["SHA-1", "SHA-256", "SHA-512"], pbmac1: ["SHA-1", "SHA-256", "SHA-512"],
        missingMAC: .opensUnderEmptyPassword, takesBER: false, takesTrailingZeroes: false,
        takesTrailingOctets: false, onlyKeyCount: 1, safeCount: 2,
        takesKey: { type in
            switch type {
            case .rsa, .ed25519, .x25519: true
            case .ec(let curve): ["P-224", "P-256", "P-384", "P-521"].contains(curve)
            default: false
            }
        })

    /// The rules of Apple's published Security sources. PBES2 is always decrypted as AES-256 with HMAC-SHA-256,
    /// whatever the file contains. Keys in the clear and nested safe contents are skipped. An error of the MAC,
    /// including PBMAC1, is reported as a wrong password, and every other error as a decoding error.
    fileprivate static let apple = ReaderRules(
        schemes: ["12.1.1", "12.1.2", "12.1.3", "12.1.5", "12.1.6"], ciphers: ["AES-256-CBC"],
        functions: ["SHA-256"], macs: sha2, takesAbsentPassword: false, triesAbsentPassword: false,
        readsPlainKeys: false,
        readsNestedSafes: false, takesUnknownBags: false, takesOddAttributes: false,
        takesMislabelledAES: true, takesEmptySalt: false,
        takesKey: { type in
            if case .ec = type { true } else { type == .rsa }
        },
        macError: "reported as a wrong password (errSecAuthFailed)",
        structureError: "reported as a decoding error (errSecDecode)")
}

extension KeyType {
    /// Whether OpenSSL supports the type of key.
    fileprivate var isKnown: Bool {
        if case .other = self { false } else { true }
    }
}
