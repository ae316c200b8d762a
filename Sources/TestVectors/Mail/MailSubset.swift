package import OpenSSL

/// A restriction of test messages to the algorithms that a mail program supports. The raw values are the names in
/// commands.
package enum MailSubset: String, Sendable, CaseIterable {
    /// No AES-GCM. It belongs to version 4 of S/MIME (RFC 8551), and mail programs of version 3 do not read it.
    case noGCM = "no-gcm"
    /// No RSAES-OAEP, which many mail programs and smart cards do not support.
    case noOAEP = "no-oaep"

    /// Whether messages with this cipher belong to the subset.
    package func includes(_ cipher: ContentCipher) -> Bool { self != .noGCM || !cipher.isAuthenticated }

    /// Whether messages with this padding of RSA keys belong to the subset.
    package func includes(_ transport: RSAKeyTransport) -> Bool { self != .noOAEP || transport != .oaep }
}
