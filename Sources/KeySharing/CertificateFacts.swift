package import OpenSSL

/// What the rules of classification read from a certificate, and nothing else.
package struct CertificateFacts: Sendable, Hashable {
    /// Nil where the certificate has no key usage extension.
    package var keyUsage: KeyUsage?
    /// Whether the key is an elliptic-curve one, for which key agreement takes encipherment's place.
    package var isEllipticCurve: Bool
    package var hasRFC822Name: Bool
    /// Whether an otherName holds a UTF8String, as a user principal name does.
    package var hasUTF8OtherName: Bool
    /// Whether an otherName holds anything else, as a FASC-N does.
    package var hasOtherOtherName: Bool

    package init(
        keyUsage: KeyUsage?, isEllipticCurve: Bool = false, hasRFC822Name: Bool = false,
        hasUTF8OtherName: Bool = false, hasOtherOtherName: Bool = false
    ) {
        self.keyUsage = keyUsage
        self.isEllipticCurve = isEllipticCurve
        self.hasRFC822Name = hasRFC822Name
        self.hasUTF8OtherName = hasUTF8OtherName
        self.hasOtherOtherName = hasOtherOtherName
    }

    /// Reads the facts off a certificate.
    package init(_ certificate: Certificate) {
        self.init(keyUsage: certificate.keyUsage)
        if case .ec = certificate.publicKey.type { isEllipticCurve = true }
        for name in certificate.subjectAlternativeNames {
            switch name {
            case .rfc822Name: hasRFC822Name = true
            case .otherName(_, .utf8String): hasUTF8OtherName = true
            case .otherName: hasOtherOtherName = true
            default: break
            }
        }
    }
}
