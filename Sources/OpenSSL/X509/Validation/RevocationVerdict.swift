internal import Diagnostics
internal import COpenSSL
package import Foundation

/// What told whether a certificate is revoked.
package enum RevocationSource: Sendable, Hashable {
    /// A revocation list: who signed it, from when and until when it counts, and whether it is a delta.
    case list(issuer: DistinguishedName, thisUpdate: Date, nextUpdate: Date?, isDelta: Bool)
    /// An OCSP response: from when and until when it counts.
    case response(thisUpdate: Date, nextUpdate: Date?)
}

/// Whether the certificates of a chain are revoked, by all that was given to tell.
struct RevocationVerdict {
    /// The outcome of the check.
    let check: Verification.Check
    /// What told it, by the certificate's depth in the chain.
    private(set) var sources: [Int: [RevocationSource]] = [:]
    /// The certificates that an OCSP response calls revoked, as OpenSSL's verifier would put it.
    private(set) var problems: [Verification.Problem] = []

    /// Puts together what OpenSSL found in the lists and what the OCSP responses say.
    ///
    /// A certificate that anything calls revoked is revoked. A response that calls one good settles it, even where
    /// a list cannot.
    init(
        _ run: VerifierRun, _ material: RevocationMaterial, _ date: Date, securityLevel: Int?,
        _ objects: VerificationObjects
    ) {
        for (depth, lists) in run.consulted {
            sources[depth] = lists.map {
                .list(
                    issuer: $0.issuer, thisUpdate: $0.thisUpdate, nextUpdate: $0.nextUpdate,
                    isDelta: $0.isDelta)
            }
        }
        guard material.isRequired || !material.lists.isEmpty || !material.responses.isEmpty else {
            check = .init(.revocation, .notChecked, "no revocation list is given")
            return
        }
        var answers = Answers()
        for depth in run.chain.indices.dropLast() {
            for response in material.responses {
                let finding = response.finding(
                    on: run.chain[depth], issuedBy: run.chain[depth + 1], at: date,
                    securityLevel: securityLevel, lists: material.lists, objects)
                answers.note(finding, at: depth, run.chain[depth])
                if case .status(let status, let thisUpdate, let nextUpdate) = finding, status != .unknown {
                    sources[depth, default: []].append(
                        .response(thisUpdate: thisUpdate, nextUpdate: nextUpdate))
                }
            }
        }
        problems = answers.revoked.sorted().map { depth in
            Verification.Problem(revoked: run.chain[depth].subject, depth: depth)
        }.filter { !run.problems.contains($0) }
        let found = run.problems.filter { $0.kind == .revocation }
        let failures =
            answers.revocations
            + found.filter { problem in
                if problem.code == Int(X509_V_ERR_CERT_REVOKED) { return true }
                return !answers.good.contains(problem.depth) && !Self.isMissing(problem)
            }.map(\.description)
        guard failures.isEmpty else {
            check = .init(.revocation, .failed, failures.joined(separator: "; "))
            return
        }
        guard run.isComplete else {
            check = .init(.revocation, .notChecked, "the chain is incomplete")
            return
        }
        // An anchor is trusted as it is, so that nobody needs to settle its revocation (RFC 5280 6.1).
        let last = run.chain.count - 1
        let missing = found.filter {
            Self.isMissing($0) && !answers.good.contains($0.depth) && (last == 0 || $0.depth < last)
        }
        let isLeafOpen =
            material.lists.isEmpty
            ? !answers.good.contains(0) && last > 0 : missing.contains { $0.depth == 0 }
        if isLeafOpen {
            let reasons = [Self.openReason(run.chain, material, date)] + answers.unusable
            check = .init(
                .revocation, material.isRequired ? .unsettled : .notChecked,
                (reasons + [material.omission].compactMap(\.self)).joined(separator: "; "))
        } else {
            check = .init(
                .revocation, .passed,
                missing.isEmpty
                    ? "no certificate of the chain is revoked"
                    : "the certificate is not revoked; " + missing.map(\.description).joined(separator: "; "))
        }
    }

    /// Whether an error says that nothing covers the certificate.
    private static func isMissing(_ problem: Verification.Problem) -> Bool {
        problem.code == Int(X509_V_ERR_UNABLE_TO_GET_CRL)
            || problem.code == Int(X509_V_ERR_DIFFERENT_CRL_SCOPE) && problem.depth == 0
    }

    /// Why the leaf is open, and which list would settle it.
    private static func openReason(
        _ chain: [Certificate], _ material: RevocationMaterial, _ date: Date
    ) -> String {
        guard let leaf = chain.first else { return "there is no certificate" }
        let points = leaf.distributionPoints
        let signers = points.flatMap(\.issuers)
        let names = signers.isEmpty ? [leaf.issuer] : signers
        let urls = points.flatMap(\.urls).map(\.visible)
        let wanted =
            "a list of " + names.map(\.description).joined(separator: " or ")
            + (urls.isEmpty ? "" : " (\(urls.joined(separator: ", ")))")
        let keys = Set(names.map(\.matchingKey))
        let near = material.lists.filter { keys.contains($0.issuerKey) }
        let state =
            if near.isEmpty {
                "no list of that issuer is given"
            } else if near.allSatisfy(\.isDelta) {
                "only a delta is given, which needs the complete list"
            } else {
                "the lists of that issuer do not cover the certificate"
            }
        return "\(wanted) would settle it: \(state)"
    }
}

/// What OCSP responses say about the certificates of a chain.
private struct Answers {
    /// The depths of certificates that are good.
    private(set) var good: Set<Int> = []
    /// The depths of certificates that are revoked.
    private(set) var revoked: Set<Int> = []
    /// The certificates that are revoked, for a person.
    private(set) var revocations: [String] = []
    /// Why responses about certificates count for nothing, for a person.
    private(set) var unusable: [String] = []

    mutating func note(_ finding: StatusResponse.Finding, at depth: Int, _ certificate: Certificate) {
        switch finding {
        case .unrelated: break
        case .unusable(let reason): unusable.append("the OCSP response does not count: \(reason)")
        case .status(.good, _, _): good.insert(depth)
        case .status(.revoked(let date, _), _, _):
            revoked.insert(depth)
            revocations.append(
                "certificate revoked at \(date.ISO8601Format()), an OCSP response says (\(certificate.subject))"
            )
        case .status(.unknown, _, _):
            unusable.append("the responder does not know the certificate (\(certificate.subject))")
        }
    }
}
