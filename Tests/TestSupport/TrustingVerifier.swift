package import Foundation
package import OpenSSL
internal import PathValidation

/// A verifier with everything it needs, for one certificate at a time: what is asked, what is trusted, and the lists.
@dynamicMemberLookup
package struct TrustingVerifier {
    /// The certificates trust starts from.
    package var trustAnchors: [Certificate]
    /// Certificates that only help to build paths.
    package var intermediates: [Certificate] = []
    /// Revocation lists; with none, revocation is not checked.
    package var revocationLists: [CertificateRevocationList] = []
    private var verifier = CertificateVerifier()

    /// A verifier that trusts `trustAnchors`.
    package init(trustAnchors: [Certificate]) {
        self.trustAnchors = trustAnchors
    }

    /// What is asked of paths.
    package subscript<Value>(dynamicMember member: WritableKeyPath<CertificateVerifier, Value>) -> Value {
        get { verifier[keyPath: member] }
        set { verifier[keyPath: member] = newValue }
    }

    /// Looks for a valid path for `leaf` and reports every check.
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
