internal import COpenSSL

extension VerifierRun {
    /// Adds the revocations in lists that OpenSSL did not consult.
    mutating func addRevocations(_ search: RevocationSearch) {
        for depth in chain.indices.dropLast() {
            guard !problems.contains(where: { $0.isRevoked && $0.depth == depth }),
                let lookup = search.revocation(of: chain[depth]), let revocation = lookup.revocation
            else { continue }
            add(lookup, revocation, at: depth)
        }
    }

    /// Adds an error for each list outside the path whose signer is revoked, although OpenSSL did not notice it. Also
    /// adds an error if a list that may revoke the signer is unusable.
    mutating func addFindingsAboutListSigners(_ search: RevocationSearch) {
        for (depth, lookups) in consulted.sorted(by: { $0.key < $1.key }) {
            for signer in lookups.compactMap(\.signer) where !chain.contains(signer) {
                switch search.status(of: signer) {
                case .notRevoked: break
                case .revoked: addError("is revoked", ofListSigner: signer, at: depth)
                case .unknown(let reason):
                    addError(
                        "may be revoked by an unusable list: \(reason)", ofListSigner: signer, at: depth)
                }
            }
        }
    }

    /// Adds an error for each certificate that an unusable list covers, because the list may revoke it.
    mutating func addUnusableLists(_ search: RevocationSearch, _ objects: VerificationObjects) {
        for depth in chain.indices.dropLast() {
            let consulted = trustedLookups(at: depth, objects)
            for reason in search.defects(ofListsCovering: chain[depth], consulted: consulted) {
                addUnusableList(reason, at: depth)
            }
        }
    }

    /// The lookups at a depth in lists that OpenSSL should have consulted. It also consults a forged list, whose signer
    /// can have a certificate that no authority issued.
    private func trustedLookups(at depth: Int, _ objects: VerificationObjects) -> [Lookup] {
        let isTrusted = trustsLists(at: depth)
        return (consulted[depth] ?? []).filter { lookup in
            lookup.signer.map {
                (isTrusted || chain.contains($0)) && objects.isSigned(lookup.list, by: $0)
            } ?? false
        }
    }

    /// Whether the issuer signed the consulted lists, which may be out of date or contain only some reasons.
    private func trustsLists(at depth: Int) -> Bool {
        problems.allSatisfy {
            $0.kind != .revocation || $0.depth != depth || $0.isRevoked || $0.isMissingList
                || $0.code == Int(X509_V_ERR_CRL_HAS_EXPIRED)
        }
    }
}
