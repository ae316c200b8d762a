import OpenSSL

/// Rules about the encryption of private keys with a password (RFC 5958, RFC 8018).
enum KeyEncryptionRules {
    typealias Rule = LintRule<LintedKeyEncryption>

    static let all: [Rule] = [
        Rule(
            "key-encryption-traditional", .warning, "RFC 8018 4.2",
            "the key is encrypted with the traditional encryption of PEM, whose key derivation has one iteration of MD5",
            if: { $0.scheme == nil }),
        Rule(
            "key-encryption-unknown", .notice, "RFC 5958 3", "the encryption scheme is not supported",
            message: {
                guard let scheme = $0.scheme, $0.layer == nil else { return nil }
                return "the encryption scheme \(scheme) is not supported"
            }),
        Rule(
            "key-encryption-scheme", .warning, "RFC 8018 6",
            "the scheme is older than PBES2, which new files must use",
            message: { subject in
                guard let layer = subject.layer, layer.schemeName != "PBES2" else { return nil }
                return "the scheme \(layer.schemeName) is older than PBES2, which new files must use"
            }),
        Rule(
            "key-encryption-cipher-weak", .error, "NIST SP 800-131A 2",
            "the cipher is RC2, RC4 or DES", message: { cipher($0) { isWeak($0) ? "which is weak" : nil } }),
        Rule(
            "key-encryption-cipher-deprecated", .warning, "NIST SP 800-131A 2",
            "the cipher is not AES and has blocks of 64 bits, such as triple DES",
            message: { cipher($0) { !isWeak($0) && hasSmallBlocks($0) ? "which is deprecated" : nil } }),
        Rule(
            "key-encryption-digest-weak", .error, "NIST SP 800-131A 9",
            "the key derivation uses MD2 or MD5",
            message: { digest($0, ["MD2", "MD5"]) }),
        Rule(
            "key-encryption-digest-sha1", .notice, "NIST SP 800-131A 9",
            "the key derivation uses SHA-1, which is being withdrawn", message: { digest($0, ["SHA-1"]) }),
        Rule(
            "key-encryption-iterations", .warning, "RFC 8018 4.2",
            "the key derivation has fewer than 1,000 iterations",
            message: { subject in
                guard let layer = subject.layer, layer.derivation != .scrypt, layer.iterations < 1_000 else {
                    return nil
                }
                return "the key derivation has only \(layer.iterations) iterations, fewer than 1,000"
            }),
        Rule(
            "key-encryption-work", .error, "KeySharing",
            "the key derivation has more than 2,000,000 iterations, which many programs refuse",
            if: { ($0.layer?.iterations ?? 0) > PKCS12Limits.standard.iterations }),
        Rule(
            "key-encryption-salt", .warning, "RFC 8018 4.1",
            "the salt of the key derivation has fewer than 8 bytes",
            message: { subject in
                guard let layer = subject.layer, layer.saltLength < 8 else { return nil }
                return "the salt of the key derivation has only \(layer.saltLength) bytes, fewer than 8"
            }),
    ]

    private static func cipher(
        _ subject: LintedKeyEncryption, _ verdict: (String) -> String?
    ) -> String? {
        guard let cipher = subject.layer?.cipher, let verdict = verdict(cipher.uppercased()) else {
            return nil
        }
        return "the cipher is \(cipher), \(verdict)"
    }

    private static func isWeak(_ cipher: String) -> Bool {
        cipher.hasPrefix("RC2") || cipher.hasPrefix("RC4") || cipher == "DES-CBC"
    }

    private static func hasSmallBlocks(_ cipher: String) -> Bool {
        ["DES-EDE", "CAST5", "BF", "IDEA", "RC5"].contains { cipher.hasPrefix($0) }
    }

    private static func digest(_ subject: LintedKeyEncryption, _ names: Set<String>) -> String? {
        let digest: String? =
            switch subject.layer?.derivation {
            case .pkcs12(let digest), .pbkdf1(let digest), .pbkdf2(let digest): digest
            case .scrypt, nil: nil
            }
        return digest.flatMap { names.contains($0) ? "the key derivation uses \($0)" : nil }
    }
}
