package import KeySharing
package import OpenSSL

extension CertificateFacts {
    /// Reads the facts that classification needs from a certificate (docs/rules.md R5).
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
