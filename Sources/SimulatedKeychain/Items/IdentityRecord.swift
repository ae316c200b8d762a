package import SecretMemory
package import struct Foundation.Date

/// An identity to be added to the keychain: a certificate with its private key.
package struct NewIdentity: Sendable {
    /// The name that is unique within the access group: the SHA-256 of the certificate in upper-case hex.
    package var label: String
    /// The certificate in DER. The keychain does not parse it.
    package var certificate: [UInt8]
    /// The private key, PKCS #8 (RFC 5208), unencrypted.
    package var privateKey: SecretBytes
    /// The caller's summary of the certificate, so that lists do not need to parse the certificate. It is not
    /// encrypted.
    package var applicationTag: [UInt8]
    /// The beginning of the certificate's validity period; stored in whole seconds.
    package var notBefore: Date
    /// When the private key may be read.
    package var accessibility: Accessibility
    /// The access group of the identity; nil for the app's default.
    package var accessGroup: String?

    /// Creates an identity with the given attributes.
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

/// The outcome of adding one identity to a keychain.
package enum AddOutcome: Sendable {
    /// The identity is in the keychain now.
    case added(IdentityAttributes)
    /// The keychain already contained an identity with this label, and did not change it (docs/rules.md R7.2).
    case duplicate(label: String)
    /// The identity could not be created or added.
    case failed(any Error)

    /// The outcome as a result in which a duplicate is an error.
    package var result: Result<IdentityAttributes, KeychainError> {
        switch self {
        case .added(let attributes): .success(attributes)
        case .duplicate(let label):
            .failure(KeychainError(.duplicateItem, "the keychain already contains the identity \(label)"))
        case .failed(let error): .failure(KeychainError(error))
        }
    }

    /// Returns true if the identity was added, and false if it is a duplicate.
    ///
    /// - Throws: The error if it could not be added.
    package func isNew() throws -> Bool {
        switch self {
        case .added: return true
        case .duplicate: return false
        case .failed(let error): throw error
        }
    }
}

/// The attributes of a stored identity for lists, without certificate and key.
package struct IdentityAttributes: Sendable, Hashable, Identifiable {
    /// A number that identifies the item in the keychain and is never reused. Later items have greater numbers.
    package let id: Int64
    /// The name that is unique within the access group.
    package let label: String
    /// The access group that holds the identity.
    package let accessGroup: String
    /// When the private key may be read.
    package let accessibility: Accessibility
    /// The summary that was stored with the identity.
    package let applicationTag: [UInt8]
    /// The beginning of the certificate's validity period, in whole seconds.
    package let notBefore: Date
}

/// An identity of the keychain without the private key.
///
/// The attributes and the certificate are authenticated together with the key, so an alteration of the file is
/// detected only when the key is opened.
package struct IdentityRecord: Sendable, Hashable, Identifiable {
    /// The attributes, as in lists.
    package let attributes: IdentityAttributes
    /// The certificate in DER.
    package let certificate: [UInt8]

    /// The number that identifies the item, from `attributes`.
    package var id: Int64 { attributes.id }
    /// The name that is unique within the access group, from `attributes`.
    package var label: String { attributes.label }
}

/// An identity of the keychain with the private key. All of it was authenticated when the key was opened.
package struct OpenedIdentity: Sendable {
    /// The attributes and the certificate, which were authenticated together with the key.
    package let record: IdentityRecord
    /// The private key, PKCS #8 (RFC 5208), unencrypted.
    package let privateKey: SecretBytes
}

/// A position in a group's list of identities, for incremental reading.
package struct IdentityReading: Sendable, Hashable {
    /// The last id that was read; 0 if none was read.
    var lastID: Int64
    /// The number of changes that deleted or changed an item of the group; nil if unknown.
    var removals: Int64?
    /// Whether the result contains only the identities that were added since the previous reading. False if an identity
    /// was deleted or changed, because the result then contains all identities.
    package internal(set) var isContinuation = false
}
