package import Foundation
package import OpenSSL

/// Validates certificates along the best available path (RFC 4158, RFC 5280 6).
///
/// The validator finds paths, and passes them to OpenSSL one at a time until one is valid. An instance caches decoded
/// objects and results from one certificate to the next. Use each instance on only one thread.
package final class PathValidator {
    /// The requirements for every path. The verifier's own anchors, intermediates and lists are ignored.
    package var verifier: CertificateVerifier
    /// The limits of the search.
    package var limits = PathLimits()
    /// The clock, used only for the time limit.
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// The time that is left for all further searches, in addition to the limit of each one; nil for no such limit.
    /// Searches reduce it.
    package var remainingTime: Duration?

    /// The certificates that paths are built from.
    package var pool: CertificatePool {
        didSet { widened = nil }
    }
    /// The revocation lists and OCSP responses.
    package var revocation: RevocationPool
    private let objects = VerificationObjects()
    /// The pool, extended with the certificates that accompanied the previous leaf. The next leaf is often accompanied
    /// by the same certificates.
    private var widened: (others: [Certificate], pool: CertificatePool)?

    /// Creates a validator with a pool of certificates, and revocation lists and responses.
    package init(_ verifier: CertificateVerifier, pool: CertificatePool, revocation: RevocationPool = .init())
    {
        self.verifier = verifier
        self.verifier.allowsPartialChain = pool.allowsPartialChain
        self.pool = pool
        self.revocation = revocation
    }

    /// Looks for a valid path for `leaf` at `date`.
    ///
    /// - Parameters:
    ///   - leaf: The certificate to validate.
    ///   - others: Certificates that accompany the leaf. Only paths for this leaf may contain them.
    ///   - date: The time of validation.
    package func validate(
        _ leaf: Certificate, accompaniedBy others: [Certificate] = [], at date: Date
    ) -> PathValidation {
        let date = date.wholeSecond
        let pool = pool(with: others)
        let finder = PathFinder(request(leaf, date), in: pool, objects)
        let start = now()
        let time = max(.zero, min(limits.time, remainingTime ?? limits.time))
        let deadline = start + time
        defer { remainingTime = remainingTime.map { $0 - (now() - start) } }
        objects.beginSearch { [now] in now() >= deadline }
        var trials = Trials()
        var faulty = 0
        var end: PathValidation.End?
        while end == nil {
            if trials.attempts.count >= limits.candidates {
                end = .candidateLimit(limits.candidates)
            } else if !trials.attempts.isEmpty, now() >= deadline {
                end = .timeLimit(seconds: time / .seconds(1))
            } else if let path = next(finder, deadline) {
                if path.faults > 0 { faulty += 1 }
                let candidate = CertificatePath(
                    leaf, issuers: path.certificates.dropFirst(), isAnchored: true)
                let (result, material) = verify(candidate, pool, date)
                trials.add(candidate, result)
                if result.isValid {
                    end = .found
                } else if isFinal(result, finder, material) {
                    end = .leafFault
                } else if faulty >= limits.faultyCandidates {
                    end = .exhausted
                }
                condemn(result, finder)
            } else if finder.isExhausted {
                // A path with a wrong signature is shown only if there is no other.
                if !trials.attempts.isEmpty || !finder.reviveUnsigned() { end = .exhausted }
            } else {
                end =
                    now() >= deadline
                    ? .timeLimit(seconds: time / .seconds(1)) : .stepLimit(limits.steps)
            }
        }
        if trials.attempts.isEmpty {
            // If no path reaches an anchor, the longest partial path shows which issuer is missing.
            let issuers = signedPart(of: finder.deadEnd?.certificates ?? [leaf]).dropFirst()
            let candidate = CertificatePath(leaf, issuers: issuers, isAnchored: false)
            trials.add(candidate, verify(candidate, pool, date).result)
        }
        return trials.validation(end: end ?? .exhausted, objects)
    }

    /// The certificates up to the first one that was not signed with the next one's key.
    private func signedPart(of certificates: [Certificate]) -> ArraySlice<Certificate> {
        let wrong = zip(certificates, certificates.dropFirst()).enumerated().first {
            !objects.isSigned($0.element.0, by: $0.element.1)
        }
        return certificates.prefix(wrong.map { $0.offset + 1 } ?? certificates.count)
    }

    private func pool(with others: [Certificate]) -> CertificatePool {
        if others.isEmpty { return pool }
        if let widened, widened.others == others { return widened.pool }
        let wider = pool.adding(others)
        widened = (others, wider)
        return wider
    }

    private func request(_ leaf: Certificate, _ date: Date) -> PathFinder.Request {
        let demandsPolicy = verifier.requiresExplicitPolicy || !verifier.acceptedPolicies.isEmpty
        let anyPolicy = "2.5.29.32.0"
        let wanted = verifier.acceptedPolicies.isEmpty ? [anyPolicy] : Set(verifier.acceptedPolicies)
        return PathFinder.Request(
            leaf: leaf, date: date, mostLinks: min(limits.links, CertificateVerifier.mostLinks),
            allowsExpired: verifier.allowsExpired, policies: demandsPolicy ? wanted : nil)
    }

    /// The next path, or nil if none is left or a limit is reached. Checks the time regularly.
    private func next(_ finder: PathFinder, _ deadline: ContinuousClock.Instant) -> PartialPath? {
        let stride = 64
        while true {
            if let path = finder.next(within: min(limits.steps, finder.steps + stride)) { return path }
            if finder.isExhausted || finder.steps >= limits.steps || now() >= deadline { return nil }
        }
    }

    /// Verifies a path. Also returns the revocation lists and responses that were used.
    private func verify(
        _ path: CertificatePath, _ pool: CertificatePool, _ date: Date
    ) -> (result: Verification, material: RevocationMaterial) {
        let material = revocation.material(for: path.certificates, pool, at: date, limits, objects)
        let result = verifier.verify(path, with: material, at: date, using: objects)
        return (result, material)
    }

    /// Whether every problem is the leaf's own, so that it would occur on every path.
    private func isFinal(
        _ result: Verification, _ finder: PathFinder, _ material: RevocationMaterial
    ) -> Bool {
        // If an authority is not permitted for the purpose, its counterpart on another path may be.
        if let leaf = result.chain.first, result.check(.extendedKeyUsage).outcome == .failed,
            result.chain.contains(where: { $0 != leaf && !verifier.allowsPurpose($0, of: leaf) })
        {
            return false
        }
        let isUnsettled = result.check(.revocation).outcome == .unsettled
        if isUnsettled, !finder.hasOneIssuerKey || hasList(for: result.chain.first, material) { return false }
        let counting = result.problems.filter { (!$0.isMissingList || $0.depth == 0) && !isAllowed($0) }
        return counting.allSatisfy { problem in
            guard problem.depth == 0 else { return false }
            if problem.isRevoked, !isRevokedByIssuer(result, material.listSigners) { return false }
            return problem.isCertificatesOwn
                || (problem.isRevoked || problem.isMissingList) && finder.hasOneIssuerKey
        }
    }

    /// Whether only the key of the leaf's issuer can have signed the lists that revoke the leaf. The list of another
    /// signer counts only on paths to the signer's own anchor (RFC 5280 6.3.3 (f)).
    private func isRevokedByIssuer(_ result: Verification, _ otherSigners: [Certificate]) -> Bool {
        guard result.chain.count > 1, let link = result.links.first else { return false }
        let (leaf, issuer) = (result.chain[0], result.chain[1])
        let namesakes = result.chain.dropFirst(2).filter { $0.subject == issuer.subject }
        return (namesakes + otherSigners).allSatisfy { $0.publicKey == issuer.publicKey }
            && link.revocation.allSatisfy { source in
                guard case .list(let signer, _, _, _, _?) = source else { return true }
                return signer.matchingKey == leaf.issuer.matchingKey
            }
    }

    /// Whether there is a list of an issuer of the leaf's revocations. On this path it settles nothing, but its signer may
    /// have a path to another anchor.
    private func hasList(for leaf: Certificate?, _ material: RevocationMaterial) -> Bool {
        guard let leaf else { return false }
        let keys = objects.listSignerKeys(of: leaf)
        return material.lists.contains { keys.contains($0.issuer.matchingKey) }
    }

    private func isAllowed(_ problem: Verification.Problem) -> Bool {
        verifier.allowsExpired && problem.isExpired
    }

    private func condemn(_ result: Verification, _ finder: PathFinder) {
        for problem in result.problems where problem.depth > 0 && result.chain.indices.contains(problem.depth)
        {
            if !isAllowed(problem), problem.isCertificatesOwn || problem.isRevoked {
                finder.condemn(result.chain[problem.depth])
            }
        }
    }
}

/// The paths that were tried for one certificate, and the index of the best one.
private struct Trials {
    private(set) var attempts: [PathValidation.Attempt] = []
    private var best: (place: Int, path: CertificatePath, result: Verification)?

    mutating func add(_ path: CertificatePath, _ result: Verification) {
        if best.map({ Self.distance(result) < Self.distance($0.result) }) ?? true {
            best = (attempts.count, path, result)
        }
        attempts.append(
            .init(
                certificates: path.certificates, isAnchored: path.isAnchored,
                failures: result.checks.filter { $0.outcome == .failed || $0.outcome == .unsettled },
                problems: result.problems))
    }

    /// A score for an invalid path; a lower score is closer to a valid path. An incomplete chain has the highest score,
    /// followed by a chain with a wrong signature. A path whose only problem is an unknown revocation status has the
    /// lowest.
    private static func distance(_ result: Verification) -> Int {
        if result.isValid { return -1 }
        let failed = result.checks.filter { $0.outcome == .failed }
        let problems = result.problems.count { !$0.isMissingList }
        let isWrong = result.problems.contains(where: \.isWrongSignature)
        return (result.isComplete ? 0 : 1 << 20) + (isWrong ? 1 << 19 : 0) + failed.count << 10 + problems
    }

    func validation(end: PathValidation.End, _ objects: VerificationObjects) -> PathValidation {
        guard let best else { preconditionFailure("no path was tried") }
        let certificates = best.path.certificates
        let links = certificates.enumerated().map { depth, certificate in
            let isAnchor = best.path.isAnchored && depth == certificates.count - 1
            let found = best.result.links.indices.contains(depth) ? best.result.links[depth] : nil
            return PathValidation.Link(
                certificate: certificate, role: isAnchor ? .anchor : depth == 0 ? .leaf : .authority,
                policies: found?.policies ?? [], constraints: objects.constraints(of: certificate),
                revocation: found?.revocation ?? [],
                problems: best.result.problems.filter { $0.depth == depth })
        }
        return PathValidation(
            verification: best.result, path: links, attempts: attempts, chosen: best.place, end: end)
    }
}
