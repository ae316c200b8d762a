package import Foundation
package import OpenSSL

/// A CMS message, the parameters of its MIME part, and the certificates among which signers and recipients are
/// looked up. The caller reads the message; nothing is verified.
package struct LintedMessage: Sendable {
    /// The algorithms, recipients and signers of the message.
    package var description: CMSDescription
    /// The media type of the MIME part in lower case; nil for a bare CMS message.
    package var mediaType: String?
    /// The parameters of the MIME part's Content-Type, keyed by name in lower case.
    package var parameters: [String: String]
    /// The certificates in the file, which may include those of recipients.
    package var certificates: [Certificate]
    /// The time of the examination.
    package var date: Date

    /// Creates a message from its values.
    package init(
        _ description: CMSDescription, mediaType: String? = nil, parameters: [String: String] = [:],
        certificates: [Certificate] = [], at date: Date
    ) {
        self.description = description
        self.mediaType = mediaType
        self.parameters = parameters
        self.certificates = certificates
        self.date = date
    }

    /// Whether the content is encrypted.
    var isEncrypted: Bool { description.kind != .signedData }

    /// Returns a message for each signer that fulfils a condition, with the signer's name.
    func signers(_ message: (CMSDescription.Signer) -> String?) -> [String] {
        description.signers.compactMap { signer in
            message(signer).map { "the signature by \(signer.name): \($0)" }
        }
    }

    /// Returns the certificates of recipients, as far as the file contains them.
    var recipientCertificates: [(recipient: CMSRecipient, certificate: Certificate)] {
        description.recipients.compactMap { recipient in
            certificates.first(where: recipient.isHolder).map { (recipient, $0) }
        }
    }
}

/// The encryption of a private key with a password.
package struct LintedKeyEncryption: Sendable {
    /// The name of the scheme; nil for the traditional encryption of PEM (RFC 1421).
    package var scheme: String?
    /// The parameters of the scheme; nil if the scheme is not supported.
    package var layer: PKCS12Layer?

    /// Creates an encryption from its values.
    package init(scheme: String?, layer: PKCS12Layer?) {
        self.scheme = scheme
        self.layer = layer
    }
}
