package import KeySharing
package import OpenSSL

extension CertificateFacts {
    /// Extracts the key usage, the kind of key and the kinds of names from `certificate`, as the classification rules
    /// require (docs/rules.md R5).
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
