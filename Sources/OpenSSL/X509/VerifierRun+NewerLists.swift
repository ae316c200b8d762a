internal import COpenSSL
internal import Foundation

extension VerifierRun {
    /// The maximum number of lists in which revocations are looked up in addition to those that OpenSSL consulted.
    private static let mostNewerLists = 8

    /// Adds the revocations in lists that are newer than those that OpenSSL consulted.
    ///
    /// OpenSSL consults one list for each certificate. It prefers a list whose next update is not due, and a list that
    /// was signed with the key on the path. An older list of this kind must not hide a later revocation, so the newest
    /// authentic list decides.
    mutating func addNewerRevocations(
        _ verifier: CertificateVerifier, _ input: Input, _ objects: VerificationObjects
    ) {
        var remaining = Self.mostNewerLists
        for depth in chain.indices.dropLast() where !isRevoked(at: depth) {
            guard let newest = consulted[depth]?.map(\.list.thisUpdate).max() else { continue }
            let key = chain[depth].issuer.matchingKey
            let newer = input.lists.filter {
                !$0.isDelta && $0.issuerKey == key && newest < $0.thisUpdate && $0.thisUpdate <= input.date
            }.sorted { $0.thisUpdate > $1.thisUpdate }
            // The lists of other issuers are needed to validate the list's signer.
            let others = input.lists.filter { $0.issuerKey != key }
            for list in newer where remaining > 0 {
                remaining -= 1
                var input = input
                input.lists = others + [list]
                guard let run = try? VerifierRun(verifier, input, objects),
                    let entry = run.consulted[depth]?.first, run.trustsLists(at: depth)
                else { continue }
                if entry.revocation != nil {
                    consulted[depth]?.append(entry)
                    problems += run.problems.filter { $0.isRevoked && $0.depth == depth }
                }
                // A list of some reasons says nothing about the others.
                if entry.revocation != nil || list.scope?.isForSomeReasons != true { break }
            }
        }
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
