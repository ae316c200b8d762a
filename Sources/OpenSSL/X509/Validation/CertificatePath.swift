/// One path to verify, from the certificate to verify to the trust anchor (RFC 5280 6.1).
package struct CertificatePath: Sendable, Hashable {
    /// The certificate to verify.
    package let leaf: Certificate
    /// The certificates above the leaf, in order. Each issued the one before it.
    package let issuers: [Certificate]
    /// Whether the last certificate is a trust anchor. Without an anchor, verification always fails.
    package let isAnchored: Bool

    /// Creates a path that begins with `leaf` and continues with `issuers`.
    package init(_ leaf: Certificate, issuers: some Sequence<Certificate>, isAnchored: Bool) {
        self.leaf = leaf
        self.issuers = Array(issuers)
        self.isAnchored = isAnchored
    }

    /// The certificates, leaf first.
    package var certificates: [Certificate] { [leaf] + issuers }
}

/// The revocation information for a verification, in addition to the path.
package struct RevocationMaterial: Sendable {
    /// The lists that may cover a certificate of the path.
    package var lists: [EncodedRevocationList] = []
    /// Certificates outside the path that may have signed one of the lists, and their issuers. An authority on the path
    /// issued each of them, or an authority that is among them.
    package var listSigners: [Certificate] = []
    /// OCSP responses.
    package var responses: [StatusResponse] = []
    /// Whether the revocation status must be known. If false, it is checked only if some material is available.
    package var isRequired = false
    /// The reason why the lists cannot be used for this path; nil if they can. The revocation status is then unknown,
    /// unless a response revokes a certificate.
    package var refusal: String?

    /// Creates empty material. Revocation is then not checked.
    package init() {}
}
