package import KeySharing

/// A use that a certificate is validated for, with what it and the authorities above it must allow.
///
/// The names are those of `openssl verify -purpose`, and of Windows for smart cards.
package enum CertificatePurpose: String, Sendable, Hashable, CaseIterable {
    /// Every use.
    case any
    /// The client of a TLS connection.
    case sslclient
    /// The server of a TLS connection.
    case sslserver
    /// Signing mail (RFC 8551 4.4.4).
    case smimesign
    /// Having mail encrypted for oneself.
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

    /// The key usages of which the certificate must have one, where it has the extension; nil where any will do.
    ///
    /// - Parameter isEllipticCurve: whether the key is on a curve, where it agrees on keys rather than
    ///   encrypting them (RFC 5480 3).
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

    /// The extended key usages of which each certificate of the path that has the extension must have one, dotted;
    /// nil where any will do.
    package var extendedKeyUsages: [String]? {
        switch self {
        case .any, .crlsign: nil
        case .sslclient: [ExtendedKeyUsage.clientAuthentication]
        case .sslserver: ["1.3.6.1.5.5.7.3.1"]
        case .smimesign, .smimeencrypt: [ExtendedKeyUsage.emailProtection]
        // Microsoft's own, and id-pkinit-KPClientAuth.
        case .smartcardLogon: ["1.3.6.1.4.1.311.20.2.2", "1.3.6.1.5.2.3.4"]
        case .codesign: ["1.3.6.1.5.5.7.3.3"]
        case .timestampsign: ["1.3.6.1.5.5.7.3.8"]
        case .ocsphelper: ["1.3.6.1.5.5.7.3.9"]
        }
    }

    /// Whether the certificate must have the extension, rather than be unrestricted without it.
    package var needsExtendedKeyUsage: Bool {
        switch self {
        case .any, .sslclient, .sslserver, .smimesign, .smimeencrypt, .crlsign: false
        case .smartcardLogon, .codesign, .timestampsign, .ocsphelper: true
        }
    }

    /// Whether anyExtendedKeyUsage (RFC 5280 4.2.1.12) stands for this purpose. RFC 3161 and RFC 6960 ask for
    /// their own.
    package var acceptsAnyExtendedKeyUsage: Bool {
        switch self {
        case .any, .sslclient, .sslserver, .smimesign, .smimeencrypt, .smartcardLogon, .codesign, .crlsign:
            true
        case .timestampsign, .ocsphelper: false
        }
    }
}
