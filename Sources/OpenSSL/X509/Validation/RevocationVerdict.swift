internal import Diagnostics
internal import COpenSSL
package import Foundation

/// A list or response that shows whether a certificate is revoked.
package enum RevocationSource: Sendable, Hashable {
    /// A revocation list: its signer, its validity period, whether it is a delta, and the certificate's entry. The
    /// entry is nil if the certificate is not on the list.
    case list(
        issuer: DistinguishedName, thisUpdate: Date, nextUpdate: Date?, isDelta: Bool,
        revocation: CertificateRevocation?)
    /// An OCSP response: its validity period, and the revocation, which is nil if the status is good.
    case response(thisUpdate: Date, nextUpdate: Date?, revocation: CertificateRevocation?)

    /// The revocation in the list or response; nil if it does not revoke the certificate.
    package var revocation: CertificateRevocation? {
        switch self {
        case .list(_, _, _, _, let revocation), .response(_, _, let revocation): revocation
        }
    }
}

/// The revocation status of a chain, derived from all lists and responses.
struct RevocationVerdict {
    /// The outcome of the check.
    let check: Verification.Check
    /// The sources of the verdict, keyed by the certificate's depth in the chain.
    private(set) var sources: [Int: [RevocationSource]] = [:]
    /// An error in OpenSSL's form for each certificate that an OCSP response revokes.
    private(set) var problems: [Verification.Problem] = []

    /// Combines OpenSSL's findings in the lists with the OCSP responses.
    ///
    /// A certificate is revoked if any source revokes it. A response with the status good decides the check, even if no
    /// list does.
    init(
        _ run: VerifierRun, _ material: RevocationMaterial, _ search: RevocationSearch, _ date: Date,
        securityLevel: Int?, _ objects: VerificationObjects
    ) {
        for (depth, lists) in run.consulted {
            sources[depth] = lists.map {
                .list(
                    issuer: $0.list.issuer, thisUpdate: $0.list.thisUpdate, nextUpdate: $0.list.nextUpdate,
                    isDelta: $0.list.isDelta, revocation: $0.revocation)
            }
        }
        guard
            material.isRequired || !search.lists.isEmpty || !search.weakLists.isEmpty
                || !material.responses.isEmpty || material.refusal != nil
                || run.problems.contains(where: { $0.kind == .revocation })
        else {
            check = .init(.revocation, .notChecked, "no revocation list was provided")
            return
        }
        var answers = Answers()
        for depth in run.chain.indices.dropLast() {
            for response in material.responses {
                let finding = response.finding(
                    on: run.chain[depth], issuedBy: run.chain[depth + 1], at: date,
                    securityLevel: securityLevel, lists: search, objects)
                answers.note(finding, at: depth, run.chain[depth])
                if case .status(let status, let thisUpdate, let nextUpdate) = finding, status != .unknown {
                    sources[depth, default: []].append(
                        .response(
                            thisUpdate: thisUpdate, nextUpdate: nextUpdate,
                            revocation: CertificateRevocation(status)))
                }
            }
        }
        // The search for a responder's revocation can omit signatures, too.
        let omission = material.refusal ?? objects.omittedSignatures
        check = Self.check(run, material, search, answers, omission)
        problems = answers.revoked.sorted { $0.key < $1.key }.filter { depth, _ in
            !run.problems.contains { $0.isRevoked && $0.depth == depth }
        }.map { depth, revocation in
            Verification.Problem(revocation, of: run.chain[depth].subject, depth: depth)
        }
    }

    /// Derives the outcome from OpenSSL's findings and the answers of the OCSP responses.
    ///
    /// - Parameter omission: The reason why not all lists were searched; nil if they were.
    private static func check(
        _ run: VerifierRun, _ material: RevocationMaterial, _ search: RevocationSearch, _ answers: Answers,
        _ omission: String?
    ) -> Verification.Check {
        let found = run.problems.filter { $0.kind == .revocation }
        let failures =
            answers.revocations
            + found.filter { problem in
                if problem.code == Int(X509_V_ERR_CERT_REVOKED) { return true }
                return !answers.good.contains(problem.depth) && !isMissing(problem)
                    && !isAnchor(problem.depth, of: run)
            }.map(\.description)
        guard failures.isEmpty else {
            return .init(.revocation, .failed, failures.joined(separator: "; "))
        }
        // The lists that were not searched might revoke any certificate, also one with a good response.
        if let omission {
            return .init(.revocation, .unsettled, omission)
        }
        guard run.isComplete else { return .init(.revocation, .notChecked, "the chain is incomplete") }
        let last = run.chain.count - 1
        let missing = found.filter {
            isMissing($0) && !answers.good.contains($0.depth) && !isAnchor($0.depth, of: run)
        }
        let forgotten = run.chain.indices.dropLast().filter {
            !answers.good.contains($0) && Self.isForgotten(run.chain[$0], by: run.consulted[$0] ?? [])
        }
        let isForgotten = forgotten.contains(0)
        let isLeafOpen =
            search.lists.isEmpty
            ? !answers.good.contains(0) && last > 0 : isForgotten || missing.contains { $0.depth == 0 }
        if isLeafOpen {
            let reason = isForgotten ? forgottenReason : openReason(run.chain, search)
            let reasons = [reason] + weaknesses(search) + answers.unusable
            return .init(
                .revocation, material.isRequired ? .unsettled : .notChecked,
                reasons.joined(separator: "; "))
        }
        let uncovered =
            missing.map(\.description) + forgotten.map { "\(forgottenReason) (\(run.chain[$0].subject))" }
        let verdict =
            uncovered.isEmpty ? "no certificate of the chain is revoked" : "the certificate is not revoked"
        return .init(
            .revocation, .passed, ([verdict] + uncovered + weaknesses(search)).joined(separator: "; "))
    }

    private static let forgottenReason =
        "the lists were issued after the certificate expired, so a revocation may have been removed"

    /// Whether the depth is that of an anchor above the leaf. An anchor is trusted by definition, so its revocation
    /// status need not be known (RFC 5280 6.1).
    private static func isAnchor(_ depth: Int, of run: VerifierRun) -> Bool {
        run.isComplete && depth > 0 && depth == run.chain.count - 1
    }

    /// Whether the error means that no list shows that the certificate is not revoked. A list of user certificates, for
    /// example, does not cover an authority. If a signature is wrong, OpenSSL took another certificate for the signer
    /// of an authentic list (``VerificationObjects/withoutForgeries(_:)``).
    private static func isMissing(_ problem: Verification.Problem) -> Bool {
        [X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_DIFFERENT_CRL_SCOPE, X509_V_ERR_CRL_SIGNATURE_FAILURE]
            .contains(CInt(truncatingIfNeeded: problem.code))
    }

    /// Whether a revocation of the certificate may have been removed from all consulted lists, because they were issued
    /// after it expired (RFC 5280 3.3). With the extension expiredCertsOnCRL (X.509), such revocations remain.
    private static func isForgotten(_ certificate: Certificate, by lookups: [VerifierRun.Lookup]) -> Bool {
        !lookups.isEmpty && lookups.allSatisfy { !$0.list.keeps(certificate) }
    }

    /// A note about each issuer of weak lists, without duplicates.
    private static func weaknesses(_ search: RevocationSearch) -> [String] {
        var notes: [String] = []
        for (list, reason) in search.weakLists {
            let note = "the list of \(list.issuer) was not used: \(reason)"
            if !notes.contains(note) { notes.append(note) }
        }
        return notes
    }

    /// The reason why the leaf's status is unknown, and the list that would determine it.
    private static func openReason(_ chain: [Certificate], _ search: RevocationSearch) -> String {
        guard let leaf = chain.first else { return "the chain has no certificate" }
        let points = leaf.distributionPoints
        let signers = points.flatMap(\.issuers)
        let names = signers.isEmpty ? [leaf.issuer] : signers
        let urls = points.flatMap(\.urls).map(\.visible)
        let wanted =
            "a list of " + names.map(\.description).joined(separator: " or ")
            + (urls.isEmpty ? "" : " (\(urls.joined(separator: ", ")))")
        let keys = Set(names.map(\.matchingKey))
        let near = search.lists.filter { keys.contains($0.issuerKey) }
        let state =
            if near.isEmpty {
                search.weakLists.contains { keys.contains($0.list.issuerKey) }
                    ? "no other list of that issuer was provided" : "no list of that issuer was provided"
            } else if !near.contains(where: search.isAuthentic) {
                "no known certificate of that issuer signed the lists with its name"
            } else if near.allSatisfy(\.isDelta) {
                "only a delta list was provided, which requires the complete list"
            } else {
                "the lists of that issuer do not cover the certificate"
            }
        return "\(wanted) is required: \(state)"
    }
}

/// The results of OCSP responses about the certificates of a chain.
private struct Answers {
    /// The depths of good certificates.
    private(set) var good: Set<Int> = []
    /// The revocations, keyed by the depth of the certificate.
    private(set) var revoked: [Int: CertificateRevocation] = [:]
    /// The revoked certificates, in readable form.
    private(set) var revocations: [String] = []
    /// The reasons why responses are unusable, in readable form.
    private(set) var unusable: [String] = []

    mutating func note(_ finding: StatusResponse.Finding, at depth: Int, _ certificate: Certificate) {
        switch finding {
        case .unrelated: break
        case .unusable(let reason): unusable.append("the OCSP response was not used: \(reason)")
        case .status(.good, let thisUpdate, _) where thisUpdate > certificate.notAfter:
            unusable.append("the OCSP response was not used: it was issued after the certificate expired")
        case .status(.good, _, _): good.insert(depth)
        case .status(.revoked(let date, let reason), _, _):
            let revocation = CertificateRevocation(date: date, reason: reason)
            if revoked[depth] == nil { revoked[depth] = revocation }
            revocations.append("\(revocation), according to an OCSP response (\(certificate.subject))")
        case .status(.unknown, _, _):
            unusable.append("the OCSP responder returned the status unknown for \(certificate.subject)")
        }
    }
}
