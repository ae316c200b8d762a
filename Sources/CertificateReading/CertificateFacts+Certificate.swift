package import KeySharing
package import OpenSSL

extension CertificateFacts {
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

extension IdentitySummary {
    /// Reads the summary off a certificate.
    package init(_ certificate: Certificate) {
        self.init(
            label: certificate.label, serialNumber: certificate.serialHex, notBefore: certificate.notBefore,
            facts: CertificateFacts(certificate))
    }
}
