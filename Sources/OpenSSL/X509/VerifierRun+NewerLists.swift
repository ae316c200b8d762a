internal import COpenSSL
internal import Foundation

extension VerifierRun {
    /// The maximum number of complete lists in which revocations are looked up in addition to those that OpenSSL
    /// consulted.
    private static let mostNewerLists = 8

    /// Adds the revocations in lists that OpenSSL did not consult, if they are newer than those that it consulted.
    ///
    /// OpenSSL consults one complete list for each certificate. It prefers a list whose next update is not due, and a
    /// list that was signed with the key on the path. It ignores most delta lists, for example if the complete list has
    /// no number. None of this must hide a later revocation, so the newest authentic list decides.
    ///
    /// - Parameters:
    ///   - input: The input of this run.
    ///   - material: All lists, also those that are not in `input`. Lists whose signatures are too weak only count if
    ///     they revoke a certificate.
    mutating func addNewerRevocations(
        _ verifier: CertificateVerifier, _ input: Input, _ material: RevocationMaterial,
        _ objects: VerificationObjects
    ) {
        let weakLists = material.weakLists.map(\.list)
        var remaining = Self.mostNewerLists
        for depth in chain.indices.dropLast() where !isRevoked(at: depth) {
            let consulted = consulted[depth] ?? []
            // A complete list that OpenSSL did not consult, although it consulted none, does not cover the certificate.
            let lists = consulted.isEmpty ? material.lists.filter(\.isDelta) : material.lists
            // OpenSSL also consults a forged list, whose signer can have a certificate that no authority issued.
            let isTrusted = trustsLists(at: depth)
            let known = consulted.filter { lookup in
                lookup.signer.map {
                    (isTrusted || chain.contains($0)) && objects.isSigned(lookup.list, by: $0)
                } ?? false
            }
            let keys = Set(known.map(\.list.issuerKey) + [chain[depth].issuer.matchingKey])
            let newer = (lists + weakLists).filter { list in
                keys.contains(list.issuerKey) && list.thisUpdate <= input.date
                    && isNewer(list, than: known.map(\.list))
                    && (input.path + input.untrusted).contains {
                        $0.subject.matchingKey == list.issuerKey && objects.isSigned(list, by: $0)
                    }
            }.sorted { $0.isNewer(than: $1) }
            var searched = known.map(\.list)
            var isRemoved = false
            for list in newer where !searched.contains(where: { objects.areEqual($0, list) }) {
                searched.append(list)
                let found: (lookup: Lookup, decision: Decision)?
                if list.isDelta {
                    found = lookUp(depth, inDelta: list, of: known, objects)
                } else {
                    guard remaining > 0 else {
                        omission = "more than \(Self.mostNewerLists) newer revocation lists were provided"
                        break
                    }
                    remaining -= 1
                    var input = input
                    // The lists of other issuers are needed to validate the list's signer.
                    input.lists = input.lists.filter { $0.issuerKey != list.issuerKey } + [list]
                    found = lookUp(depth, in: list, verifier, input, objects)
                }
                guard let found else { continue }
                if let revocation = found.lookup.revocation {
                    if !(isRemoved && revocation.isHold) { add(found.lookup, revocation, at: depth) }
                    break
                }
                guard !weakLists.contains(where: { $0 === list }) else { continue }
                if found.decision == .notRevoked { break }
                if found.decision == .removed { isRemoved = true }
            }
        }
    }

    /// Adds an error for each list whose signer is revoked, although OpenSSL did not notice it: by a delta list, or by a
    /// list that is newer than the one that it consulted.
    mutating func addRevocationsOfListSigners(
        _ material: RevocationMaterial, at date: Date, _ objects: VerificationObjects
    ) {
        for (depth, lookups) in consulted.sorted(by: { $0.key < $1.key }) {
            for signer in lookups.compactMap(\.signer) where !chain.contains(signer) {
                guard let issuer = chain.first(where: { objects.isSigned(signer, by: $0) }),
                    objects.revocation(
                        of: signer, issuedBy: issuer, in: material.lists,
                        weakLists: material.weakLists.map(\.list), at: date) != nil
                else { continue }
                addRevocation(ofListSigner: signer, at: depth)
            }
        }
    }

    /// The effect of a list without a revocation on the lists before it.
    private enum Decision {
        /// The certificate is not revoked.
        case notRevoked
        /// The certificate was removed from an earlier list, which only lifts a hold.
        case removed
        /// Earlier lists can revoke the certificate.
        case none
    }

    /// Whether a list is newer than the consulted ones, or than those of its scope if there are any. A list of the same
    /// date counts as newer unless its number is lower.
    private func isNewer(_ list: EncodedRevocationList, than known: [EncodedRevocationList]) -> Bool {
        let alike = known.filter { $0.scope == list.scope }
        return !(alike.isEmpty ? known : alike).contains { $0.isNewer(than: list) }
    }

    /// Looks up the certificate at a depth in a complete list; nil if the list is not authentic or does not cover the
    /// certificate.
    ///
    /// - Parameter input: The input with this list and those of other issuers.
    private func lookUp(
        _ depth: Int, in list: EncodedRevocationList, _ verifier: CertificateVerifier, _ input: Input,
        _ objects: VerificationObjects
    ) -> (lookup: Lookup, decision: Decision)? {
        guard let run = try? VerifierRun(verifier, input, objects),
            let lookup = run.consulted[depth]?.first(where: { $0.list === list }), run.trustsLists(at: depth)
        else { return nil }
        // A list of some reasons does not include revocations for the others.
        return (lookup, lookup.list.scope?.isForSomeReasons == true ? .none : .notRevoked)
    }

    /// Looks up the certificate at a depth in a delta list; nil if the list does not contain it, or if neither the
    /// issuer nor the signer of a consulted list signed it. Only a delta list with the scope of the complete list can
    /// remove an entry from it (RFC 5280 5.2.4).
    private func lookUp(
        _ depth: Int, inDelta list: EncodedRevocationList, of known: [Lookup], _ objects: VerificationObjects
    ) -> (lookup: Lookup, decision: Decision)? {
        let complete = known.filter {
            !$0.list.isDelta && $0.list.issuerKey == list.issuerKey
        }
        let signers = complete.compactMap(\.signer) + [chain[depth + 1]]
        guard let found = objects.entry(of: chain[depth], in: list, signers: signers) else { return nil }
        let hasSameScope = complete.contains { $0.list.scope == list.scope }
        switch found.entry {
        case .absent: return nil
        case .removed: return ((list, found.signer, nil), hasSameScope ? .removed : .none)
        case .revoked(let revocation): return ((list, found.signer, revocation), .none)
        }
    }

    private func isRevoked(at depth: Int) -> Bool {
        problems.contains { $0.isRevoked && $0.depth == depth }
    }

    /// Whether the issuer signed the consulted lists, which may be out of date or contain only some reasons.
    private func trustsLists(at depth: Int) -> Bool {
        problems.allSatisfy {
            $0.kind != .revocation || $0.depth != depth || $0.isRevoked || $0.isMissingList
                || $0.code == Int(X509_V_ERR_CRL_HAS_EXPIRED)
        }
    }
}
