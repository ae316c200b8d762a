package import Foundation

/// The outcome for one signature of a message (SignerInfo, RFC 5652, 5.3).
package struct CMSSignerReport: Sendable {
    /// The possible outcomes of verifying a signature.
    package enum Outcome: Sendable, Hashable {
        /// The signature matches the content.
        case sound
        /// The signature does not match the content.
        case mismatch
        /// The signature matches, but its signed attributes do not fit the content or the signer's certificate. `reason`
        /// is a clause that begins with its subject.
        case unsuitableAttributes(reason: String)
        /// The certificate of the signer is neither in the message nor among the additional certificates.
        case missingCertificate
        /// OpenSSL cannot verify the signature. `reason` is a clause that begins with its subject.
        case unsupported(reason: String)
    }

    /// The outcome of verifying the signature. It says nothing about the certificate.
    package let outcome: Outcome
    /// The signer's certificate, which was not validated; nil if it is missing.
    package let certificate: Certificate?
    /// The serial number and issuer of the signer's certificate, or its key identifier, as in the message.
    package let signerName: String
    /// The name of the digest, such as `sha256`.
    package let digest: String
    /// The name of the signature algorithm, such as `rsassaPss`.
    package let signatureAlgorithm: String
    /// The time at which the signer claims to have signed (RFC 5652, 11.3); nil if the signature contains none,
    /// or one that cannot be read.
    package let signingTime: Date?
    /// Whether the signature contains a signing time, even if it cannot be read.
    package let hasSigningTime: Bool
    /// The algorithms that the signer claims to support (SMIMECapabilities, RFC 8551, 2.5.2), in order of preference.
    package let capabilities: [String]
    /// Whether the signature covers attributes.
    package let hasSignedAttributes: Bool
    /// The reason why the signature may be forged although it verifies, such as `its digest is MD5`; nil for a
    /// signature that reaches the security level.
    package let weakness: String?
    /// The errors of OpenSSL; nil if the signature verifies.
    package let cause: OpenSSLError?
}
