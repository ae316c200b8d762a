package import KeySharing
package import Foundation

/// The contents of a certificate to issue (RFC 5280, 4.1 and 4.2).
///
/// A template is not checked. It may describe a certificate that has expired, has an empty subject or contradicts
/// itself, because test material includes such certificates.
package struct CertificateTemplate: Sendable, Hashable {
    /// The contents of a key identifier extension.
    package enum KeyIdentifier: Sendable, Hashable {
        /// For the subject, the SHA-1 of its public key. For the authority, the issuer's subject key identifier, or the
        /// SHA-1 of the issuer's public key if it has no identifier. A self-signed certificate gets no authority key
        /// identifier.
        case automatic
        /// The extension is omitted.
        case absent
        /// The given octets.
        case octets([UInt8])
    }

    /// The basic constraints (RFC 5280, 4.2.1.9): whether the subject is an authority, and the maximum length of the
    /// path below it.
    package struct BasicConstraints: Sendable, Hashable {
        /// Whether the subject is a certificate authority.
        package var isCertificateAuthority: Bool
        /// The maximum number of CA certificates between the subject and an end entity; nil for no limit.
        package var pathLength: Int?

        /// Creates constraints for an authority or, with false, for an end entity.
        package init(isCertificateAuthority: Bool, pathLength: Int? = nil) {
            self.isCertificateAuthority = isCertificateAuthority
            self.pathLength = pathLength
        }
    }

    /// The name of the holder of the key.
    package var subject: DistinguishedName
    /// The magnitude of the serial number, big-endian. It may be longer than the 20 octets that RFC 5280, 4.1.2.2
    /// allows.
    package var serialNumber: [UInt8]
    /// Whether the serial number is negative.
    package var isSerialNegative = false
    /// The start of the validity period, rounded down to a whole second.
    package var notBefore: Date
    /// The end of the validity period, rounded down to a whole second.
    package var notAfter: Date
    /// The basic constraints, as a critical extension; nil omits the extension.
    package var basicConstraints: BasicConstraints?
    /// The key usage (RFC 5280, 4.2.1.3); nil omits the extension.
    package var keyUsage: KeyUsage?
    /// Whether the key usage extension is critical, as RFC 5280, 4.2.1.3 recommends.
    package var isKeyUsageCritical = true
    /// The extended key usages (RFC 5280, 4.2.1.12) as dotted object identifiers; if empty, the extension is omitted.
    package var extendedKeyUsage: [String] = []
    /// The certificate policies (RFC 5280, 4.2.1.4) as dotted object identifiers, without qualifiers; if empty, the
    /// extension is omitted.
    package var policies: [String] = []
    /// The subject's alternative names (RFC 5280, 4.2.1.6); if empty, the extension is omitted.
    package var subjectAlternativeNames: [GeneralName] = []
    /// Whether the extension with the alternative names is critical, as RFC 5280, 4.2.1.6 requires if the subject is
    /// empty.
    package var areAlternativeNamesCritical = false
    /// The URLs of revocation lists. Each URL becomes a distribution point (RFC 5280, 4.2.1.13).
    package var revocationListURLs: [String] = []
    /// The URLs of the issuer's certificate (`caIssuers` in authority information access; RFC 5280, 4.2.2.1).
    package var issuerURLs: [String] = []
    /// The URLs of OCSP responders (`ocsp` in authority information access; RFC 5280, 4.2.2.1).
    package var responderURLs: [String] = []
    /// The subtrees that must contain the names in certificates below this one (critical name constraints; RFC 5280,
    /// 4.2.1.10).
    package var permittedNames: [GeneralName] = []
    /// The subtrees that must not contain any name in certificates below this one (critical name constraints; RFC 5280,
    /// 4.2.1.10).
    package var excludedNames: [GeneralName] = []
    /// The subject key identifier (RFC 5280, 4.2.1.2).
    package var subjectKeyIdentifier = KeyIdentifier.automatic
    /// The authority key identifier (RFC 5280, 4.2.1.1).
    package var authorityKeyIdentifier = KeyIdentifier.automatic
    /// Further extensions, which come last in the certificate.
    package var extensions: [CertificateExtension] = []

    /// Creates a template with the fields that every certificate has. Set the other properties afterwards.
    package init(subject: DistinguishedName, serialNumber: [UInt8], notBefore: Date, notAfter: Date) {
        self.subject = subject
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
