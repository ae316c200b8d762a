package import SecretMemory
package import struct Foundation.Date

/// An identity to add to the keychain.
package struct NewIdentity: Sendable {
    /// Names the identity within its group: the upper-case hex SHA-256 of the certificate.
    package var label: String
    /// The certificate, DER. Kept as it is, never looked into.
    package var certificate: [UInt8]
    /// The private key, PKCS #8.
    package var privateKey: SecretBytes
    /// The caller's own summary of the certificate, so that lists need not parse it. Not secret.
    package var applicationTag: [UInt8]
    /// From when the certificate is valid; kept to the second.
    package var notBefore: Date
    /// When the private key may be read.
    package var accessibility: Accessibility
    /// Where it goes; nil for the app's default group.
    package var accessGroup: String?

    /// An identity with the given attributes.
    package init(
        label: String, certificate: [UInt8], privateKey: SecretBytes, applicationTag: [UInt8] = [],
        notBefore: Date, accessibility: Accessibility = .whenPasscodeSetThisDeviceOnly,
        accessGroup: String? = nil
    ) {
        self.label = label
        self.certificate = certificate
        self.privateKey = privateKey
        self.applicationTag = applicationTag
        self.notBefore = notBefore
        self.accessibility = accessibility
        self.accessGroup = accessGroup
    }
}

/// What became of an identity that was to be added.
package enum AddedIdentity: Sendable, Hashable {
    case added
    /// It was there already, and stays as it is.
    case duplicate
}

/// What a list shows of an identity, without its certificate and its key.
package struct IdentityAttributes: Sendable, Hashable, Identifiable {
    /// Names the item within the keychain for ever; later items have greater ids.
    package let id: Int64
    /// Names the identity within its group.
    package let label: String
    /// The group it is in.
    package let accessGroup: String
    /// When its private key may be read.
    package let accessibility: Accessibility
    /// The caller's own summary.
    package let applicationTag: [UInt8]
    /// From when its certificate is valid, to the second.
    package let notBefore: Date
}

/// An identity of the keychain, without its key.
///
/// That neither attributes nor certificate were altered shows when the key is opened.
package struct IdentityRecord: Sendable, Hashable, Identifiable {
    /// Everything that is short.
    package let attributes: IdentityAttributes
    /// The certificate, DER.
    package let certificate: [UInt8]

    /// As in `attributes`.
    package var id: Int64 { attributes.id }
    /// As in `attributes`.
    package var label: String { attributes.label }
}

/// An identity of the keychain with its key; nothing of it was altered since it was added.
package struct OpenedIdentity: Sendable {
    /// The attributes and the certificate, as they were sealed with the key.
    package let record: IdentityRecord
    /// The private key, PKCS #8.
    package let privateKey: SecretBytes
}
