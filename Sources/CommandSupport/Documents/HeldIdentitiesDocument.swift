package import Foundation
package import KeySharing
package import OpenSSL

/// The JSON document of the consumer's `list`.
package struct HeldIdentitiesDocument: Codable, Sendable {
    /// One identity of the consumer's keychain.
    package struct Identity: Codable, Sendable {
        /// The label of the identity.
        package let label: String
        /// The credential type under the rules of 2025.
        package let type: String
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// The subject of the certificate.
        package let subject: String
        /// When the certificate begins to be valid.
        package let notBefore: Date
        /// When the certificate ceases to be valid.
        package let notAfter: Date

        /// Describes an identity by its certificate and what lists know of it.
        package init(_ certificate: Certificate, _ summary: IdentitySummary) {
            label = summary.label
            type = summary.type(.keySharing2025).rawValue
            serial = summary.serialNumber
            subject = "\(certificate.subject)"
            notBefore = certificate.notBefore
            notAfter = certificate.notAfter
        }
    }

    /// The identities in the order of lists.
    package let identities: [Identity]

    /// Describes the identities of a keychain.
    package init(identities: [Identity]) {
        self.identities = identities
    }
}
