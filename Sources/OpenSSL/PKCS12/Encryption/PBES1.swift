/// A scheme of PKCS #5 v1.5 (RFC 8018, A.3) or of RFC 7292, C, whose single identifier names key derivation and cipher.
struct PBES1: Sendable {
    /// The scheme's name, as OpenSSL spells it.
    let name: String
    /// The key derivation.
    let derivation: EncryptionScheme.Derivation
    /// OpenSSL's name of the cipher.
    let cipher: String

    private init(_ name: String, _ derivation: EncryptionScheme.Derivation, _ cipher: String) {
        self.name = name
        self.derivation = derivation
        self.cipher = cipher
    }

    /// The schemes, keyed by dotted identifier.
    static let schemes: [String: PBES1] = [
        "1.2.840.113549.1.12.1.1": PBES1("pbeWithSHA1And128BitRC4", .pkcs12(digest: "SHA1"), "RC4"),
        "1.2.840.113549.1.12.1.2": PBES1("pbeWithSHA1And40BitRC4", .pkcs12(digest: "SHA1"), "RC4-40"),
        OID.pbeWithSHA1AndTripleDES: PBES1(
            "pbeWithSHA1And3-KeyTripleDES-CBC", .pkcs12(digest: "SHA1"), "DES-EDE3-CBC"),
        "1.2.840.113549.1.12.1.4": PBES1(
            "pbeWithSHA1And2-KeyTripleDES-CBC", .pkcs12(digest: "SHA1"), "DES-EDE-CBC"),
        "1.2.840.113549.1.12.1.5": PBES1(
            "pbeWithSHA1And128BitRC2-CBC", .pkcs12(digest: "SHA1"), "RC2-CBC"),
        OID.pbeWithSHA1AndRC2With40Bits: PBES1(
            "pbeWithSHA1And40BitRC2-CBC", .pkcs12(digest: "SHA1"), "RC2-40-CBC"),
        "1.2.840.113549.1.5.1": PBES1("pbeWithMD2AndDES-CBC", .pbkdf1(digest: "MD2"), "DES-CBC"),
        "1.2.840.113549.1.5.3": PBES1("pbeWithMD5AndDES-CBC", .pbkdf1(digest: "MD5"), "DES-CBC"),
        "1.2.840.113549.1.5.4": PBES1("pbeWithMD2AndRC2-CBC", .pbkdf1(digest: "MD2"), "RC2-64-CBC"),
        "1.2.840.113549.1.5.6": PBES1("pbeWithMD5AndRC2-CBC", .pbkdf1(digest: "MD5"), "RC2-64-CBC"),
        "1.2.840.113549.1.5.10": PBES1("pbeWithSHA1AndDES-CBC", .pbkdf1(digest: "SHA1"), "DES-CBC"),
        "1.2.840.113549.1.5.11": PBES1("pbeWithSHA1AndRC2-CBC", .pbkdf1(digest: "SHA1"), "RC2-64-CBC"),
        // Bouncy Castle's own schemes (org.bouncycastle.asn1.bc.BCObjectIdentifiers).
        "1.3.6.1.4.1.22554.1.1.2.1.2": PBES1(
            "pbeWithSHA1And128BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-128-CBC"),
        "1.3.6.1.4.1.22554.1.1.2.1.22": PBES1(
            "pbeWithSHA1And192BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-192-CBC"),
        "1.3.6.1.4.1.22554.1.1.2.1.42": PBES1(
            "pbeWithSHA1And256BitAES-CBC", .pkcs12(digest: "SHA1"), "AES-256-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.2": PBES1(
            "pbeWithSHA256And128BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-128-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.22": PBES1(
            "pbeWithSHA256And192BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-192-CBC"),
        "1.3.6.1.4.1.22554.1.2.1.2.1.42": PBES1(
            "pbeWithSHA256And256BitAES-CBC", .pkcs12(digest: "SHA256"), "AES-256-CBC"),
    ]
}
