/// A path to verify alone: from the certificate in question up to the one trust starts from (RFC 5280 6.1).
package struct CertificatePath: Sendable, Hashable {
    /// The certificate in question.
    package let leaf: Certificate
    /// The certificates above the leaf, in order. Each issued the one before it.
    package let issuers: [Certificate]
    /// Whether the last certificate is a trust anchor; a path that reaches none can only fail.
    package let isAnchored: Bool

    /// A path from `leaf` over `issuers`.
    package init(_ leaf: Certificate, issuers: some Sequence<Certificate>, isAnchored: Bool) {
        self.leaf = leaf
        self.issuers = Array(issuers)
        self.isAnchored = isAnchored
    }

    /// The certificates, leaf first.
    package var certificates: [Certificate] { [leaf] + issuers }
}

/// What a verification takes beside the certificates of the path: whatever may tell their revocation.
package struct RevocationMaterial: Sendable {
    /// The lists that may concern a certificate of the path.
    package var lists: [EncodedRevocationList] = []
    /// Certificates that may have signed such a list, and those above them.
    package var listSigners: [Certificate] = []
    /// OCSP responses.
    package var responses: [StatusResponse] = []
    /// Whether revocation is to be settled: without it, it is checked only if there is something above.
    package var isRequired = false
    /// What was left out of the above because a limit was reached, for a person; nil where nothing was.
    package var omission: String?

    /// Nothing: revocation is not checked.
    package init() {}
}
