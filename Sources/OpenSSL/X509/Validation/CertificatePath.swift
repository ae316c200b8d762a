/// A path to verify alone: from the certificate in question up to the one trust starts from (RFC 5280 6.1).
package struct CertificatePath: Sendable, Hashable {
    /// The certificates, leaf first. Each is issued by the next one.
    package let certificates: [Certificate]
    /// Whether the last certificate is a trust anchor; a path that reaches none can only fail.
    package let isAnchored: Bool

    /// A path of these certificates, leaf first.
    package init(_ certificates: [Certificate], isAnchored: Bool) {
        self.certificates = certificates
        self.isAnchored = isAnchored
    }
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
