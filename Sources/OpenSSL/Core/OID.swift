/// The object identifiers of RFC 7292 and related algorithms, as dotted text.
///
/// Every identifier that code compares or writes is defined here once. Tables that map many identifiers to names, such
/// as those of encryption schemes, are next to the code that reads them.
package enum OID {
    // Content types (RFC 5652, 4, 5 and 8).

    /// id-data: octets without further structure.
    package static let data = "1.2.840.113549.1.7.1"
    /// id-signedData: content with signatures; `.p7b` files are of this type.
    package static let signedData = "1.2.840.113549.1.7.2"
    /// id-envelopedData: content that is encrypted for recipients.
    package static let envelopedData = "1.2.840.113549.1.7.3"
    /// id-ct-authEnvelopedData: content that is encrypted for recipients and authenticated (RFC 5083, 2.1).
    package static let authEnvelopedData = "1.2.840.113549.1.9.16.1.23"
    /// id-encryptedData: content that is encrypted under a key derived from a password.
    package static let encryptedData = "1.2.840.113549.1.7.6"

    // Types of bags (RFC 7292, 4.2.1 to 4.2.6).

    /// keyBag: a PrivateKeyInfo in the clear.
    package static let keyBag = "1.2.840.113549.1.12.10.1.1"
    /// pkcs8ShroudedKeyBag: an EncryptedPrivateKeyInfo.
    package static let shroudedKeyBag = "1.2.840.113549.1.12.10.1.2"
    /// certBag: a certificate.
    package static let certBag = "1.2.840.113549.1.12.10.1.3"
    /// crlBag: a certificate revocation list.
    package static let crlBag = "1.2.840.113549.1.12.10.1.4"
    /// secretBag: any other secret.
    package static let secretBag = "1.2.840.113549.1.12.10.1.5"
    /// safeContentsBag: SafeContents inside SafeContents.
    package static let safeContentsBag = "1.2.840.113549.1.12.10.1.6"

    // Types of certificates in a certBag (RFC 7292, 4.2.3).

    /// x509Certificate: the DER of an X.509 certificate.
    package static let x509Certificate = "1.2.840.113549.1.9.22.1"

    // E-mail addresses in certificates.

    /// emailAddress: an attribute of the subject in older certificates (RFC 2985, 5.2.1).
    package static let emailAddress = "1.2.840.113549.1.9.1"
    /// id-on-SmtpUTF8Mailbox: the otherName of an address whose local part is not ASCII (RFC 9598, 3).
    package static let smtpUTF8Mailbox = "1.3.6.1.5.5.7.8.9"

    // Attributes of bags (RFC 2985, 5.5.1 and 5.5.2).

    /// friendlyName: a readable name, a BMPString.
    package static let friendlyName = "1.2.840.113549.1.9.20"
    /// localKeyID: octets that link a key to a certificate.
    package static let localKeyID = "1.2.840.113549.1.9.21"
    /// Oracle's attribute with which Java's key stores mark a certificate as a trust anchor.
    package static let javaTrustedKeyUsage = "2.16.840.1.113894.746875.1.1"

    // Encryption and MAC schemes (RFC 8018, A; RFC 7292, C; RFC 9579; RFC 7914, 7).

    /// PBES2: a key derivation and a cipher with separate identifiers.
    package static let pbes2 = "1.2.840.113549.1.5.13"
    /// PBMAC1: a key derivation and a MAC with separate identifiers.
    package static let pbmac1 = "1.2.840.113549.1.5.14"
    /// PBKDF2, a key derivation.
    package static let pbkdf2 = "1.2.840.113549.1.5.12"
    /// scrypt, a memory-hard key derivation.
    package static let scrypt = "1.3.6.1.4.1.11591.4.11"
    /// pbeWithSHAAnd3-KeyTripleDES-CBC, which most writers used before PBES2.
    package static let pbeWithSHA1AndTripleDES = "1.2.840.113549.1.12.1.3"
    /// pbeWithSHAAnd40BitRC2-CBC, which many writers used for certificates.
    package static let pbeWithSHA1AndRC2With40Bits = "1.2.840.113549.1.12.1.6"

    // Ciphers of PBES2 (RFC 8018, B.2; NIST's AES identifiers; RFC 2984).

    /// AES with a key of 128 bits in CBC mode.
    package static let aes128CBC = "2.16.840.1.101.3.4.1.2"
    /// AES with a key of 192 bits in CBC mode.
    package static let aes192CBC = "2.16.840.1.101.3.4.1.22"
    /// AES with a key of 256 bits in CBC mode.
    package static let aes256CBC = "2.16.840.1.101.3.4.1.42"
    /// Triple DES with three keys in CBC mode (des-EDE3-CBC).
    package static let tripleDESCBC = "1.2.840.113549.3.7"
    /// RC2 in CBC mode. Its parameters specify the number of effective key bits.
    package static let rc2CBC = "1.2.840.113549.3.2"
    /// CAST5 in CBC mode. Its parameters specify the key size in bits.
    package static let cast5CBC = "1.2.840.113533.7.66.10"

    // Ciphers of messages that are recognized, but not supported (RFC 5084; RFC 8103; RFC 8018, B.2.1).

    /// AES with a key of 128 bits in CCM mode.
    static let aes128CCM = "2.16.840.1.101.3.4.1.7"
    /// AES with a key of 192 bits in CCM mode.
    static let aes192CCM = "2.16.840.1.101.3.4.1.27"
    /// AES with a key of 256 bits in CCM mode.
    static let aes256CCM = "2.16.840.1.101.3.4.1.47"
    /// ChaCha20 with Poly1305.
    static let chaCha20Poly1305 = "1.2.840.113549.1.9.16.3.18"
    /// DES in CBC mode.
    static let desCBC = "1.3.14.3.2.7"
    /// id-alg-PWRI-KEK: the encryption of a content key under a key derived from a password (RFC 3211, 2.3).
    static let passwordKeyEncryption = "1.2.840.113549.1.9.16.3.9"
    /// id-ct-compressedData: compressed content (RFC 3274).
    package static let compressedData = "1.2.840.113549.1.9.16.1.9"

    // Status responses (RFC 6960, 4.2.1).

    /// id-pkix-ocsp-basic: a response that contains statuses.
    static let basicStatusResponse = "1.3.6.1.5.5.7.48.1.1"

    // Digests and HMACs (RFC 8017, B.1; RFC 8018, B.1.1).

    /// SHA-1.
    package static let sha1 = "1.3.14.3.2.26"
    /// SHA-256.
    package static let sha256 = "2.16.840.1.101.3.4.2.1"
    /// HMAC with SHA-1: the default pseudo-random function of PBKDF2.
    package static let hmacSHA1 = "1.2.840.113549.2.7"
    /// HMAC with SHA-256.
    package static let hmacSHA256 = "1.2.840.113549.2.9"

    // Keys (RFC 3279, 2.3).

    /// rsaEncryption: an RSA key.
    package static let rsa = "1.2.840.113549.1.1.1"
    /// id-dsa: a DSA key.
    package static let dsa = "1.2.840.10040.4.1"
    /// id-RSASSA-PSS: an RSA key that signs only with PSS (RFC 4055, 1.2).
    package static let rsaPSS = "1.2.840.113549.1.1.10"
}
