internal import KeySharing

/// A person and a type. A renewed identity has the same owner as its predecessor.
struct IdentityOwner: Hashable {
    let commonName: String
    let type: CredentialType

    /// Reads the owner of an identity; nil if the certificate has no common name.
    init?(_ identity: IdentitySummary) {
        guard let commonName = identity.details?.commonName else { return nil }
        self.commonName = commonName
        type = identity.type(under: .keySharing2025)
    }
}
