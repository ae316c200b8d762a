package import Foundation
package import OpenSSL

/// The JSON document of `trust`.
package struct AuthoritiesDocument: Codable, Sendable {
    /// The certificate of one authority.
    package struct Certificate: Codable, Sendable {
        /// The subject of the certificate.
        package let subject: String
        /// The issuer of the certificate.
        package let issuer: String
        /// The label of the certificate: its SHA-256 in hexadecimal digits.
        package let label: String
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// The start of the validity period.
        package let notBefore: Date
        /// The end of the validity period.
        package let notAfter: Date
        /// Whether the certificate is a root.
        package let isRoot: Bool
        /// The certificate as PEM.
        package let pem: String
    }

    /// The certificates, roots first.
    package let certificates: [Certificate]

    /// Creates the document for the authorities of a test PKI.
    package init(_ certificates: [OpenSSL.Certificate]) {
        self.certificates = certificates.map {
            Certificate(
                subject: "\($0.subject)", issuer: "\($0.issuer)", label: $0.label, serial: $0.serialHex,
                notBefore: $0.notBefore, notAfter: $0.notAfter, isRoot: $0.isSelfSigned, pem: $0.pem)
        }
    }
}
