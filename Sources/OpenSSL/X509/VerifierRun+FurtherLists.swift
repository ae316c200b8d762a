internal import COpenSSL

extension VerifierRun {
    /// Adds the revocations in lists that OpenSSL did not consult. A final revocation replaces OpenSSL's finding, which can
    /// be a hold.
    mutating func addRevocations(_ search: RevocationSearch) {
        for depth in chain.indices.dropLast() {
            guard let lookup = search.revocation(of: chain[depth]), let revocation = lookup.revocation else {
                continue
            }
            if problems.contains(where: { $0.isRevoked && $0.depth == depth }) {
                guard !revocation.isHold else { continue }
                removeRevocation(at: depth)
            }
            add(lookup, revocation, at: depth)
        }
    }

    /// Adds an error for each signer outside the path that may be revoked, or has a weak RSA exponent or is below one. Also
    /// adds an error for revoked signers, whose lists OpenSSL did not use, if it used no other list or if their lists revoke
    /// the certificate.
    mutating func addFindingsAboutListSigners(_ search: RevocationSearch) {
        for depth in chain.indices.dropLast() {
            let consulted = (consulted[depth] ?? []).compactMap(\.signer)
            for signer in consulted where !chain.contains(signer) {
                if search.weakSigners.contains(signer) {
                    addError(
                        "or an authority above it has an RSA exponent that is even or less than 65,537",
                        ofListSigner: signer, at: depth)
                }
                guard case .unknown(let reason) = search.status(of: signer) else { continue }
                addError("may be revoked: \(reason)", ofListSigner: signer, at: depth)
            }
            let revoked = search.revokedSigners(
                ofListsCovering: chain[depth], isConsulted: !consulted.isEmpty)
            for signer in revoked {
                addError("is revoked, or an authority above it is", ofListSigner: signer, at: depth)
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

    /// The lookups at a depth in lists that OpenSSL should have consulted. It also consults a list whose signer it does
    /// not accept, and can take another certificate for the signer.
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
