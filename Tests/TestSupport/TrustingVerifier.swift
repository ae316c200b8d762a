package import Foundation
package import OpenSSL
internal import PathValidation

/// Verifies one certificate at a time, with its own requirements, trust anchors and revocation lists.
@dynamicMemberLookup
package struct TrustingVerifier {
    /// The trust anchors.
    package var trustAnchors: [Certificate]
    /// Untrusted certificates for building paths.
    package var intermediates: [Certificate] = []
    /// Revocation lists; if empty, revocation is not checked.
    package var revocationLists: [CertificateRevocationList] = []
    private var verifier = CertificateVerifier()

    /// Creates a verifier that trusts `trustAnchors`.
    package init(trustAnchors: [Certificate]) {
        self.trustAnchors = trustAnchors
    }

    /// The requirements on paths.
    package subscript<Value>(dynamicMember member: WritableKeyPath<CertificateVerifier, Value>) -> Value {
        get { verifier[keyPath: member] }
        set { verifier[keyPath: member] = newValue }
    }

    /// Searches for a valid path for `leaf`, and reports every check.
    package func verify(_ leaf: Certificate, at date: Date) -> Verification {
        let lists = revocationLists.compactMap { try? EncodedRevocationList(der: $0.der) }
        let pool = CertificatePool(
            trusted: trustAnchors, untrusted: intermediates, allowsPartialChain: verifier.allowsPartialChain)
        return PathValidator(
            verifier, pool: pool,
            revocation: RevocationPool(lists: lists, isRequired: !revocationLists.isEmpty)
        ).validate(leaf, at: date).verification
    }
}
