package import KeySharing

/// The purpose for which a certificate is validated, and the usages that it and the authorities above it need.
///
/// The names are those of `openssl verify -purpose`. The name for smart cards is from Windows.
package enum CertificatePurpose: String, Sendable, Hashable, CaseIterable {
    /// Any purpose.
    case any
    /// The client of a TLS connection.
    case sslclient
    /// The server of a TLS connection.
    case sslserver
    /// Signing messages (RFC 8551 4.4.4).
    case smimesign
    /// Receiving encrypted messages.
    case smimeencrypt
    /// Logging on with a smart card (RFC 4556, and Microsoft's extended key usage for it).
    case smartcardLogon = "smartcard-logon"
    /// Signing programs.
    case codesign
    /// Signing time stamps (RFC 3161 2.3).
    case timestampsign
    /// Signing OCSP responses (RFC 6960 4.2.2.2).
    case ocsphelper
    /// Signing revocation lists.
    case crlsign

    /// The key usages that are suitable for the purpose. A certificate with the extension must have at least one of
    /// them. Nil means that any key usage is suitable.
    ///
    /// - Parameter isEllipticCurve: Whether the key is an elliptic-curve key, which is used for key agreement instead
    ///   of key encipherment (RFC 5480 3).
    package func keyUsages(isEllipticCurve: Bool) -> KeyUsage? {
        switch self {
        case .any, .ocsphelper: nil
        case .sslclient: [.digitalSignature, .keyAgreement]
        case .sslserver: [.digitalSignature, .keyEncipherment, .keyAgreement]
        case .smimesign, .timestampsign: [.digitalSignature, .nonRepudiation]
        case .smimeencrypt: isEllipticCurve ? .keyAgreement : .keyEncipherment
        case .smartcardLogon, .codesign: .digitalSignature
        case .crlsign: .cRLSign
        }
    }

    /// The extended key usages that are suitable for the purpose, dotted. Each certificate of the path with the
    /// extension must have at least one of them. Nil means that any usage is suitable.
    package var extendedKeyUsages: [String]? {
        switch self {
        case .any, .crlsign: nil
        case .sslclient: [ExtendedKeyUsage.clientAuthentication]
        case .sslserver: ["1.3.6.1.5.5.7.3.1"]
        case .smimesign, .smimeencrypt: [ExtendedKeyUsage.emailProtection]
        // Microsoft's smart card logon, and id-pkinit-KPClientAuth.
        case .smartcardLogon: ["1.3.6.1.4.1.311.20.2.2", "1.3.6.1.5.2.3.4"]
        case .codesign: ["1.3.6.1.5.5.7.3.3"]
        case .timestampsign: ["1.3.6.1.5.5.7.3.8"]
        case .ocsphelper: ["1.3.6.1.5.5.7.3.9"]
        }
    }

    /// The bits of a Netscape certificate type that permit the purpose, in its first octet, for end entities and for
    /// authorities. Nil means that any type is suitable.
    var netscapeTypes: (endEntity: UInt8, authority: UInt8)? {
        switch self {
        case .any: nil
        case .sslclient: (0x80, 0x04)
        case .sslserver: (0x40, 0x04)
        case .smimesign, .smimeencrypt: (0x20, 0x02)
        case .codesign: (0x10, 0x01)
        // Netscape defined no bits for these purposes.
        case .smartcardLogon, .timestampsign, .ocsphelper, .crlsign: (0, 0)
        }
    }

    /// Whether the leaf must have the extension. If false, a leaf without it is unrestricted.
    package var needsExtendedKeyUsage: Bool {
        switch self {
        case .any, .sslclient, .sslserver, .smimesign, .smimeencrypt, .crlsign: false
        case .smartcardLogon, .codesign, .timestampsign, .ocsphelper: true
        }
    }

    /// Whether the leaf's extension must be critical and contain no other usage (RFC 3161 2.3).
    var needsOnlyExtendedKeyUsage: Bool { self == .timestampsign }

    /// Whether anyExtendedKeyUsage (RFC 5280 4.2.1.12) also permits this purpose. RFC 3161 and RFC 6960 require their
    /// own usages.
    package var acceptsAnyExtendedKeyUsage: Bool {
        switch self {
        case .any, .sslclient, .sslserver, .smimesign, .smimeencrypt, .smartcardLogon, .codesign, .crlsign:
            true
        case .timestampsign, .ocsphelper: false
        }
    }
}
