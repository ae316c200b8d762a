package import OpenSSL

/// The JSON document of `trust`.
package struct AuthoritiesDocument: Codable, Sendable {
    /// The certificate of one authority.
    package struct Certificate: Codable, Sendable {
        /// The subject of the certificate.
        package let subject: String
        /// The label of the certificate.
        package let label: String
        /// The certificate as PEM.
        package let pem: String
    }

    /// The certificates; the roots come first.
    package let certificates: [Certificate]

    /// Describes the authorities of a test PKI.
    package init(_ certificates: [OpenSSL.Certificate]) {
        self.certificates = certificates.map {
            Certificate(subject: "\($0.subject)", label: $0.label, pem: $0.pem)
        }
    }
}
