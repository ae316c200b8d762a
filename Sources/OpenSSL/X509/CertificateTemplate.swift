package import KeySharing
package import Foundation

/// What a certificate is to hold, before a key signs it.
///
/// Nothing here is judged: a template may describe a certificate that is expired, names nobody or is used
/// for the wrong thing, because test material needs those too.
package struct CertificateTemplate: Sendable, Hashable {
    /// Where a key identifier comes from.
    package enum KeyIdentifier: Sendable, Hashable {
        /// The SHA-1 of the key; for an authority the issuer's own identifier where it has one. A
        /// self-signed certificate gets no authority key identifier.
        case automatic
        /// The extension is left out.
        case absent
        /// These octets.
        case octets([UInt8])
    }

    /// Whether the subject signs certificates, and how many CA certificates may stand between it and the end.
    package struct BasicConstraints: Sendable, Hashable {
        /// Whether the subject is a certificate authority.
        package var isCertificateAuthority: Bool
        /// The greatest number of CA certificates below; nil for no limit.
        package var pathLength: Int?

        /// Constraints for an authority or, with false, for everybody else.
        package init(isCertificateAuthority: Bool, pathLength: Int? = nil) {
            self.isCertificateAuthority = isCertificateAuthority
            self.pathLength = pathLength
        }
    }

    /// Whose key it is.
    package var subject: DistinguishedName
    /// The magnitude of the serial number, big-endian, of any length.
    package var serialNumber: [UInt8]
    /// Whether the serial number is below zero.
    package var isSerialNegative = false
    /// The first moment of the validity; parts of a second are dropped.
    package var notBefore: Date
    /// The last moment of the validity; parts of a second are dropped.
    package var notAfter: Date
    /// Basic constraints, critical; nil leaves them out.
    package var basicConstraints: BasicConstraints?
    /// Key usage; nil leaves it out.
    package var keyUsage: KeyUsage?
    /// Whether key usage is critical.
    package var isKeyUsageCritical = true
    /// Extended key usages, dotted; none leaves the extension out.
    package var extendedKeyUsage: [String] = []
    /// Certificate policies, dotted, without qualifiers; none leaves the extension out.
    package var policies: [String] = []
    /// Other names of the subject; none leaves the extension out.
    package var subjectAlternativeNames: [GeneralName] = []
    /// Whether these are critical, as RFC 5280 asks where the subject is empty.
    package var areAlternativeNamesCritical = false
    /// Where revocation lists are found, one distribution point each.
    package var revocationListURLs: [String] = []
    /// Where the issuer's certificate is found (authority information access, caIssuers).
    package var issuerURLs: [String] = []
    /// Where an OCSP responder answers.
    package var responderURLs: [String] = []
    /// Name constraints, critical: the subtrees that names below must be in.
    package var permittedNames: [GeneralName] = []
    /// Name constraints, critical: the subtrees that names below must not be in.
    package var excludedNames: [GeneralName] = []
    /// The subject key identifier.
    package var subjectKeyIdentifier = KeyIdentifier.automatic
    /// The authority key identifier.
    package var authorityKeyIdentifier = KeyIdentifier.automatic
    /// Any other extensions, last in the certificate.
    package var extensions: [CertificateExtension] = []

    /// A template with the fields every certificate has; the rest is set afterwards.
    package init(subject: DistinguishedName, serialNumber: [UInt8], notBefore: Date, notAfter: Date) {
        self.subject = subject
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
