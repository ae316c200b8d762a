internal import COpenSSL
internal import Foundation

extension VerifierRun {
    /// The maximum number of lists in which revocations are looked up in addition to those that OpenSSL consulted.
    private static let mostNewerLists = 8

    /// Adds the revocations in lists that OpenSSL did not consult, if they are newer than those that it consulted.
    ///
    /// OpenSSL consults one complete list for each certificate. It prefers a list whose next update is not due, and a
    /// list that was signed with the key on the path. It ignores most delta lists, for example if the complete list has
    /// no number. None of this must hide a later revocation, so the newest authentic list decides.
    ///
    /// - Parameter weakLists: The lists that are not in `input` because their signatures are too weak. They only count
    ///   if they revoke a certificate.
    mutating func addNewerRevocations(
        _ verifier: CertificateVerifier, _ input: Input, weakLists: [EncodedRevocationList],
        _ objects: VerificationObjects
    ) {
        var remaining = Self.mostNewerLists
        for depth in chain.indices.dropLast() where !isRevoked(at: depth) {
            let known = consulted[depth] ?? []
            let newest = known.map(\.list.thisUpdate).max()
            let key = chain[depth].issuer.matchingKey
            let newer = ((newest == nil ? [] : input.lists) + weakLists).filter { list in
                list.issuerKey == key && list.thisUpdate <= input.date
                    && newest.map {
                        // A delta list can have the date of its complete list.
                        $0 < list.thisUpdate
                            || $0 == list.thisUpdate && list.isDelta && !known.contains { $0.list === list }
                    } ?? true
            }.sorted { $0.thisUpdate > $1.thisUpdate }
            // The lists of other issuers are needed to validate the list's signer.
            let others = input.lists.filter { $0.issuerKey != key }
            for list in newer where remaining > 0 {
                remaining -= 1
                var input = input
                input.lists = others + [list]
                let found =
                    list.isDelta
                    ? objects.lookUp(chain[depth], inDelta: list, signers: known.compactMap(\.signer))
                    : lookUp(depth, verifier, input, objects)
                guard let found else { continue }
                if let revocation = found.lookup.revocation {
                    add(found.lookup, revocation, at: depth)
                    break
                }
                if found.isRelease, !weakLists.contains(where: { $0 === list }) { break }
            }
        }
    }

    /// Looks up the certificate at a depth in the lists of `input`; nil if none of them is authentic and covers it.
    private func lookUp(
        _ depth: Int, _ verifier: CertificateVerifier, _ input: Input, _ objects: VerificationObjects
    ) -> (lookup: Lookup, isRelease: Bool)? {
        guard let run = try? VerifierRun(verifier, input, objects),
            let lookup = run.consulted[depth]?.first, run.trustsLists(at: depth)
        else { return nil }
        // A list of some reasons says nothing about the others.
        return (lookup, lookup.list.scope?.isForSomeReasons != true)
    }

    private func isRevoked(at depth: Int) -> Bool {
        problems.contains { $0.isRevoked && $0.depth == depth }
    }

    /// Whether the issuer signed the consulted lists, which may be out of date.
    private func trustsLists(at depth: Int) -> Bool {
        problems.allSatisfy {
            $0.kind != .revocation || $0.depth != depth || $0.isRevoked
                || $0.code == Int(X509_V_ERR_CRL_HAS_EXPIRED)
        }
    }
}

extension VerificationObjects {
    /// Looks up a certificate in a delta list; nil if the list does not contain it, or if none of the signers signed the
    /// list. An entry can also remove the certificate from the complete list (removeFromCRL).
    fileprivate func lookUp(
        _ certificate: Certificate, inDelta list: EncodedRevocationList, signers: [Certificate]
    ) -> (lookup: VerifierRun.Lookup, isRelease: Bool)? {
        defer { OpenSSLError.discardQueue() }
        guard let encoded = unsafe try? pointer(list),
            let signer = signers.first(where: {
                unsafe (try? X509_CRL_verify(encoded, X509_get0_pubkey(pointer($0)))) == 1
            })
        else { return nil }
        var entry: OpaquePointer?
        let verdict = unsafe (try? X509_CRL_get0_by_cert(encoded, &entry, pointer(certificate))) ?? 0
        guard verdict > 0, let entry = unsafe entry else { return nil }
        let revocation = unsafe verdict == 1 ? CertificateRevocation(reading: entry) : nil
        return ((list, signer, revocation), revocation == nil)
    }
}
