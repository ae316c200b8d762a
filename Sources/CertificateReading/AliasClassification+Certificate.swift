package import KeySharing
package import OpenSSL

extension AliasClassification {
    /// Classifies a certificate under the rules of alias sharing (docs/rules.md R9.4 to R9.10).
    package init(_ certificate: Certificate) {
        self.init(
            CertificateFacts(withoutNameOrder: certificate),
            names: CertificateFacts.alternativeNames(certificate))
    }
}
