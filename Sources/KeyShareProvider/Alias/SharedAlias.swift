internal import CertificateReading
internal import DeviceSimulation
package import KeySharing
package import OpenSSL

/// A KeyChain entry as the provider shares it: an alias, a certificate, and the certificate's alias type.
package struct SharedAlias: Sendable {
    /// The name of the entry.
    package let alias: String
    /// The label of the identity.
    package let label: String
    /// The certificate.
    package let certificate: Certificate
    /// The certificate's type and the rule that assigned it (docs/rules.md R9.4 to R9.9).
    package let classification: AliasClassification

    /// Reads an entry.
    ///
    /// - Throws: `CertificateError` if OpenSSL rejects the certificate.
    init(_ entry: KeyChainEntry) throws {
        let certificate = try Certificate(der: entry.certificate)
        guard let classification = AliasClassification(CertificateFacts(certificate)) else {
            throw CertificateError(.malformed, "the certificate\u{2019}s names cannot be read")
        }
        alias = entry.alias
        label = entry.label
        self.certificate = certificate
        self.classification = classification
    }

    /// The algorithm of the key, as Java names it.
    package var keyType: String { certificate.publicKey.type == .rsa ? "RSA" : "EC" }

    /// Returns the entry for queries and for the chooser.
    ///
    /// - Parameter chain: The certificates of the authorities above the certificate, whose issuers the chooser can filter
    ///   by.
    func entry(_ chain: [Certificate]) -> AliasEntry {
        AliasEntry(
            alias: alias,
            certificate: AliasEntry.Certificate(
                der: certificate.der, type: classification.type, warnings: classification.warnings,
                notBefore: certificate.notBefore, notAfter: certificate.notAfter, keyType: keyType,
                issuers: ([certificate] + chain).map(\.issuer.der)))
    }
}
