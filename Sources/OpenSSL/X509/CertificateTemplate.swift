package import KeySharing
package import Foundation

/// The contents of a certificate that is to be issued (RFC 5280, 4.1 and 4.2).
///
/// Nothing in a template is checked. It may describe a certificate that has expired, names nobody or contradicts
/// itself, because test material needs those too.
package struct CertificateTemplate: Sendable, Hashable {
    /// What a key identifier extension is to hold.
    package enum KeyIdentifier: Sendable, Hashable {
        /// For the subject, the SHA-1 of its public key. For the authority, the issuer's subject key identifier, or the
        /// SHA-1 of its public key if it has none; a self-signed certificate gets no authority key identifier.
        case automatic
        /// Nothing: the extension is left out.
        case absent
        /// These octets.
        case octets([UInt8])
    }

    /// The basic constraints (RFC 5280, 4.2.1.9): whether the subject is an authority, and how deep a chain below may
    /// be.
    package struct BasicConstraints: Sendable, Hashable {
        /// Whether the subject is a certificate authority.
        package var isCertificateAuthority: Bool
        /// The greatest number of CA certificates between the subject and an end entity; nil for no limit.
        package var pathLength: Int?

        /// Makes constraints for an authority or, with false, for an end entity.
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
    /// Whether the serial number is below zero.
    package var isSerialNegative = false
    /// The first moment of the validity, rounded down to a whole second.
    package var notBefore: Date
    /// The last moment of the validity, rounded down to a whole second.
    package var notAfter: Date
    /// The basic constraints, which are critical; nil leaves the extension out.
    package var basicConstraints: BasicConstraints?
    /// The key usage (RFC 5280, 4.2.1.3); nil leaves the extension out.
    package var keyUsage: KeyUsage?
    /// Whether the key usage extension is critical, as RFC 5280, 4.2.1.3 asks.
    package var isKeyUsageCritical = true
    /// The extended key usages (RFC 5280, 4.2.1.12) as dotted object identifiers; if empty, the extension is left out.
    package var extendedKeyUsage: [String] = []
    /// The certificate policies (RFC 5280, 4.2.1.4) as dotted object identifiers, without qualifiers; if empty, the
    /// extension is left out.
    package var policies: [String] = []
    /// The subject's alternative names (RFC 5280, 4.2.1.6); if empty, the extension is left out.
    package var subjectAlternativeNames: [GeneralName] = []
    /// Whether the extension with the alternative names is critical, as RFC 5280, 4.2.1.6 asks if the subject is empty.
    package var areAlternativeNamesCritical = false
    /// The URLs of revocation lists, which become one distribution point each (RFC 5280, 4.2.1.13).
    package var revocationListURLs: [String] = []
    /// The URLs of the issuer's certificate (`caIssuers` in authority information access; RFC 5280, 4.2.2.1).
    package var issuerURLs: [String] = []
    /// The URLs of OCSP responders (`ocsp` in authority information access; RFC 5280, 4.2.2.1).
    package var responderURLs: [String] = []
    /// The subtrees in which names of certificates below must be (name constraints, critical; RFC 5280, 4.2.1.10).
    package var permittedNames: [GeneralName] = []
    /// The subtrees in which no name of a certificate below may be (name constraints, critical; RFC 5280, 4.2.1.10).
    package var excludedNames: [GeneralName] = []
    /// The subject key identifier (RFC 5280, 4.2.1.2).
    package var subjectKeyIdentifier = KeyIdentifier.automatic
    /// The authority key identifier (RFC 5280, 4.2.1.1).
    package var authorityKeyIdentifier = KeyIdentifier.automatic
    /// Further extensions, which come last in the certificate.
    package var extensions: [CertificateExtension] = []

    /// Makes a template with the fields that every certificate has. The other properties are set afterwards.
    package init(subject: DistinguishedName, serialNumber: [UInt8], notBefore: Date, notAfter: Date) {
        self.subject = subject
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}
