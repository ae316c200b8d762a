internal import COpenSSL

/// A cipher for the content of messages (RFC 8551, 2.7). The raw values are the names in command options and in JSON
/// documents.
package enum ContentCipher: String, Sendable, CaseIterable {
    case aes128CBC = "aes128-cbc"
    case aes192CBC = "aes192-cbc"
    case aes256CBC = "aes256-cbc"
    case aes128GCM = "aes128-gcm"
    case aes192GCM = "aes192-gcm"
    case aes256GCM = "aes256-gcm"
    case tripleDES = "des-ede3-cbc"

    /// Creates the cipher with this object identifier; nil if there is none.
    package init?(oid: String) {
        guard let cipher = Self.allCases.first(where: { $0.oid == oid }) else { return nil }
        self = cipher
    }

    /// The cipher's object identifier, as dotted text (NIST's AES identifiers; RFC 3370, 5.1).
    package var oid: String {
        let aes = "2.16.840.1.101.3.4.1."
        return switch self {
        case .aes128CBC: OID.aes128CBC
        case .aes192CBC: OID.aes192CBC
        case .aes256CBC: OID.aes256CBC
        case .aes128GCM: aes + "6"
        case .aes192GCM: aes + "26"
        case .aes256GCM: aes + "46"
        case .tripleDES: OID.tripleDESCBC
        }
    }

    /// Returns the reason why messages with another cipher are not decrypted, as a clause after `which`.
    static func unsupportedReason(oid: String) -> String {
        switch oid {
        case OID.rc2CBC, OID.desCBC: "is too weak to be accepted (RFC 8551, appendix B)"
        case OID.aes128CCM, OID.aes192CCM, OID.aes256CCM, OID.chaCha20Poly1305:
            "OpenSSL 3.0 does not implement for messages"
        default: "is not supported"
        }
    }

    /// Whether the cipher authenticates the content. With any other cipher, the content can be altered without
    /// detection unless it is signed.
    package var isAuthenticated: Bool {
        switch self {
        case .aes128GCM, .aes192GCM, .aes256GCM: true
        case .aes128CBC, .aes192CBC, .aes256CBC, .tripleDES: false
        }
    }

    /// OpenSSL's cipher (`EVP_CIPHER`), a static object that must not be freed.
    var pointer: OpaquePointer? {
        switch self {
        case .aes128CBC: unsafe EVP_aes_128_cbc()
        case .aes192CBC: unsafe EVP_aes_192_cbc()
        case .aes256CBC: unsafe EVP_aes_256_cbc()
        case .aes128GCM: unsafe EVP_aes_128_gcm()
        case .aes192GCM: unsafe EVP_aes_192_gcm()
        case .aes256GCM: unsafe EVP_aes_256_gcm()
        case .tripleDES: unsafe EVP_des_ede3_cbc()
        }
    }
}

/// The scheme that encrypts the content's key for an RSA key (RFC 8551, 2.3).
package enum RSAKeyTransport: String, Sendable, CaseIterable {
    /// PKCS #1 v1.5 (RFC 8017, 7.2).
    case pkcs1
    /// OAEP with SHA-256 (RFC 8017, 7.1; RFC 3560).
    case oaep
}
