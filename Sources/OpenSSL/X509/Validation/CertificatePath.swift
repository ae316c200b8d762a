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
    /// Certificates that may have signed one of the lists, and their issuers.
    package var listSigners: [Certificate] = []
    /// OCSP responses.
    package var responses: [StatusResponse] = []
    /// Whether the revocation status must be known. If false, it is checked only if some material is available.
    package var isRequired = false
    /// A readable note about material that was omitted because of a limit; nil if nothing was omitted.
    package var omission: String?
    /// The reason why the lists cannot be used for this path; nil if they can. The revocation status is then unknown,
    /// unless a response revokes a certificate.
    package var refusal: String?

    /// The lists whose signatures are too weak, each with the reason. They can revoke a certificate, but they cannot
    /// show that it is not revoked.
    private(set) var weakLists: [(list: EncodedRevocationList, reason: String)] = []

    /// The lists with malformed entries, for example, except those in `weakLists`. They may revoke a certificate.
    private(set) var unusableLists: [EncodedRevocationList] = []

    /// Creates empty material. Revocation is then not checked.
    package init() {}

    /// Moves the lists whose signatures do not reach a security level from ``lists`` to `weakLists`.
    mutating func separateWeakLists(below level: Int?) {
        weakLists = lists.compactMap { list in
            DigestStrength.weakness(ofDigest: list.digest, below: level).map { (list, $0) }
        }
        lists.removeAll { DigestStrength.weakness(ofDigest: $0.digest, below: level) != nil }
    }

    /// Moves the unusable lists from ``lists`` to `unusableLists`.
    mutating func separateUnusableLists(_ objects: VerificationObjects) {
        unusableLists += lists.filter { objects.defect(of: $0) != nil }
        lists.removeAll { objects.defect(of: $0) != nil }
    }

    /// A note about each issuer of weak lists, without duplicates.
    var weaknesses: [String] {
        var notes: [String] = []
        for (list, reason) in weakLists {
            let note = "the list of \(list.issuer) was not used: \(reason)"
            if !notes.contains(note) { notes.append(note) }
        }
        return notes
    }
}
