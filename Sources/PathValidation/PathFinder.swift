internal import KeySharing
internal import Foundation
internal import OpenSSL

/// Finds the paths from one certificate to the anchors of a pool, the most likely and shortest first.
///
/// RFC 4158 calls this building in the forward direction. Partial paths are queued by rank: fewer faults first, then
/// fewer doubts, then the shorter possible path. A fault is a property that validation rejects and that is cheap to
/// detect. A path with a fault moves to the end of the queue but is never dropped, so validation always makes the
/// decision. Use each finder on only one thread.
final class PathFinder {
    /// The parameters of the search, except for the pool.
    struct Request {
        let leaf: Certificate
        let date: Date
        let mostLinks: Int
        let allowsExpired: Bool
        /// The acceptable policies; a path must be valid for at least one of them. Nil means any policy.
        let policies: Set<String>?
    }

    private let pool: CertificatePool
    private let request: Request
    private let objects: VerificationObjects
    private var queue: [Rank: [PartialPath]] = [:]
    private var waiting = 0
    private var condemned: Set<Certificate> = []
    /// Paths whose last signature does not match the issuer's key, in the order found. A few are kept to explain a
    /// failure.
    private var unsigned: [PartialPath] = []
    private var acceptsUnsigned = false

    /// The longest partial path that cannot be continued to an anchor. It is reported if no path reaches one.
    private(set) var deadEnd: PartialPath?
    /// The number of partial paths that were removed from the queue.
    private(set) var steps = 0

    /// Creates a finder for `request`. `objects` caches signatures and names across paths.
    init(_ request: Request, in pool: CertificatePool, _ objects: VerificationObjects) {
        self.request = request
        self.pool = pool
        self.objects = objects
        let issuer = pool.key(of: request.leaf.issuer)
        let start = PartialPath(
            certificate: request.leaf, issuer: issuer, isSelfIssued: request.leaf.isSelfIssued, below: nil,
            isComplete: pool.isTrusted(request.leaf) && isAnchor(request.leaf))
        push(start)
    }

    /// Whether all known issuers of the leaf have the same key.
    var hasOneIssuerKey: Bool {
        let keys = pool.members(named: pool.key(of: request.leaf.issuer)).map(\.certificate.publicKey.spki)
        return Set(keys).count <= 1
    }

    /// Moves paths through `certificate` to the end of the queue, because it is unusable on any path.
    func condemn(_ certificate: Certificate) { condemned.insert(certificate) }

    /// The number of self-issued certificates with one name that are examined before the time of the search is checked.
    private static let uncheckedSelfSignatures = 64

    /// The maximum number of partial paths that one call removes from the queue, so that the caller can check the time.
    private static let mostLooks = 64
    /// The number of comparisons of names with constraints after which a call returns, so that the caller can check the
    /// time.
    private static let mostComparisons = 1 << 16
    /// The number of these comparisons since the last call began.
    private var comparisons = 0

    /// Returns the next path to an anchor. Returns nil if no path is left or `mostSteps` steps were made in total, and
    /// also at regular intervals so that the caller can check the time.
    ///
    /// A partial path with a wrong signature is set aside and does not count as a step.
    func next(within mostSteps: Int) -> PartialPath? {
        var looks = 0
        comparisons = 0
        while steps < mostSteps, looks < Self.mostLooks, comparisons < Self.mostComparisons, let path = pop()
        {
            looks += 1
            // If the queue is empty, the rank does not matter, and validation finds the faults.
            if waiting > 0 {
                guard acceptsUnsigned || isSigned(path) else {
                    if unsigned.count < Self.mostUnsigned { unsigned.append(path) }
                    continue
                }
                steps += 1
                if examine(path) {
                    push(path)
                    continue
                }
            } else {
                steps += 1
            }
            if path.isComplete { return path }
            extend(path)
        }
        return nil
    }

    /// Whether the queue is empty.
    var isExhausted: Bool { waiting == 0 }

    // MARK: - Signatures

    /// The maximum number of kept partial paths with a wrong signature.
    private static let mostUnsigned = 16

    /// Queues the paths with a wrong signature again, so that the result can explain why no path is valid.
    ///
    /// - Returns: Whether there are any.
    func reviveUnsigned() -> Bool {
        acceptsUnsigned = true
        let paths = unsigned
        unsigned = []
        // The queue returns the last one first.
        for path in paths.reversed() {
            path.faults += 1
            push(path)
        }
        return !paths.isEmpty
    }

    /// Whether each certificate of a partial path was signed with the key of the next one. Checks only the signatures
    /// that no earlier call has checked.
    private func isSigned(_ path: PartialPath) -> Bool {
        var place = path
        while !place.isSigned, let below = place.below {
            guard objects.isSigned(below.certificate, by: place.certificate) else { return false }
            place.isSigned = true
            place = below
        }
        return true
    }

    // MARK: - The queue

    private struct Rank: Hashable, Comparable {
        let faults: Int
        let doubts: Int
        let length: Int

        static func < (left: Rank, right: Rank) -> Bool {
            (left.faults, left.doubts, left.length) < (right.faults, right.doubts, right.length)
        }
    }

    private func push(_ path: PartialPath) {
        let rest = path.isComplete ? 0 : pool.distance(from: path.issuer) ?? request.mostLinks
        let rank = Rank(faults: path.faults, doubts: path.doubts, length: path.length + rest)
        queue[rank, default: []].append(path)
        waiting += 1
    }

    private func pop() -> PartialPath? {
        guard let rank = queue.keys.min(), let path = queue[rank]?.popLast() else { return nil }
        if queue[rank]?.isEmpty == true { queue[rank] = nil }
        waiting -= 1
        return path
    }

    // MARK: - Building

    private func extend(_ path: PartialPath) {
        let issuers = path.length < request.mostLinks ? pool.members(named: path.issuer) : []
        var isContinued = false
        // The queue returns the path that was added last first, so the best path is added last.
        var next: [PartialPath] = []
        // Anyone can create many self-signed certificates with large keys.
        var selfIssued = 0
        for member in issuers {
            let certificate = member.certificate
            guard !path.holdsKey(of: certificate) else { continue }
            if member.isSelfIssued { selfIssued += 1 }
            if selfIssued > Self.uncheckedSelfSignatures, objects.isSearchOver { break }
            let isAnchor = member.isTrusted && isAnchor(certificate)
            // A self-signed certificate that is not trusted ends the path without an anchor.
            if !isAnchor, member.isSelfIssued, objects.isSelfSigned(certificate) { continue }
            isContinued = true
            guard isAnchor || pool.distance(from: member.issuer) != nil else {
                note(
                    PartialPath(
                        certificate: certificate, issuer: member.issuer, isSelfIssued: member.isSelfIssued,
                        below: path, isComplete: false))
                continue
            }
            let longer = PartialPath(
                certificate: certificate, issuer: member.issuer, isSelfIssued: member.isSelfIssued,
                below: path, isComplete: isAnchor)
            longer.doubts += hasOtherKeyIdentifier(certificate, than: path.certificate) ? 1 : 0
            longer.faults += isOutOfOrder(certificate, isAnchor: isAnchor) ? 1 : 0
            next.append(longer)
        }
        if !isContinued { note(path) }
        for longer in next.sorted(by: { !$0.isComplete && $1.isComplete }) { push(longer) }
    }

    private func note(_ path: PartialPath) {
        if path.length > deadEnd?.length ?? 0 { deadEnd = path }
    }

    private func isAnchor(_ certificate: Certificate) -> Bool {
        pool.allowsPartialChain || objects.isSelfSigned(certificate)
    }

    /// Whether both certificates have key identifiers and these differ (RFC 4158 3.5.12).
    private func hasOtherKeyIdentifier(_ issuer: Certificate, than certificate: Certificate) -> Bool {
        guard let subject = issuer.subjectKeyIdentifier, let wanted = certificate.authorityKeyIdentifier
        else {
            return false
        }
        return subject != wanted
    }

    /// Whether a certificate cannot issue others now: it is not valid at the date, or is not a CA certificate.
    private func isOutOfOrder(_ certificate: Certificate, isAnchor: Bool) -> Bool {
        if certificate.notBefore > request.date { return true }
        if certificate.notAfter < request.date, !request.allowsExpired { return true }
        if !isAnchor, !certificate.isCertificateAuthority { return true }
        return certificate.keyUsage.map { !$0.contains(.keyCertSign) } ?? false
    }

    // MARK: - Looking ahead

    /// Performs the more expensive checks, once for each partial path.
    ///
    /// - Returns: Whether the path has new faults and must be queued again.
    private func examine(_ path: PartialPath) -> Bool {
        let before = path.faults
        let useless = path.certificates.count { condemned.contains($0) }
        path.faults += max(0, useless - path.condemned)
        path.condemned = useless
        guard !path.isExamined, let below = path.below else { return path.faults > before }
        path.isExamined = true
        let constraints = objects.constraints(of: path.certificate)
        if let most = constraints.pathLength, below.authorities > most { path.faults += 1 }
        if constraints.hasNameConstraints, !keepsNames(below, under: path.certificate) { path.faults += 1 }
        if let wanted = request.policies, !leavesPolicy(path, of: wanted) { path.faults += 1 }
        return path.faults > before
    }

    /// Whether the names below the authority satisfy its constraints. Self-issued authorities are exempt (RFC 5280
    /// 6.1.3 (b)).
    private func keepsNames(_ path: PartialPath, under authority: Certificate) -> Bool {
        var place: PartialPath? = path
        var comparisons = 0
        defer { self.comparisons += min(comparisons, CertificateVerifier.mostNameComparisons) }
        while let path = place {
            if !path.isSelfIssued || path.below == nil {
                comparisons += objects.nameComparisons(of: path.certificate, under: authority)
                // Validation would refuse the path.
                guard comparisons <= CertificateVerifier.mostNameComparisons,
                    objects.keepsNames(path.certificate, under: authority)
                else { return false }
            }
            place = path.below
        }
        return true
    }

    private func leavesPolicy(_ path: PartialPath, of wanted: Set<String>) -> Bool {
        var domain = PolicyDomain(leaf: request.leaf.policies)
        // The anchor's own policies are not processed (RFC 5280 6.1).
        for certificate in path.certificates.dropFirst()
        where !(path.isComplete && certificate == path.certificate) {
            domain.rise(
                over: certificate.policies, mappings: objects.constraints(of: certificate).policyMappings)
        }
        return path.isComplete ? domain.meets(wanted) : !domain.isEmpty
    }
}

/// A path from the leaf up to a certificate. It shares the lower certificates with other paths.
final class PartialPath {
    /// The uppermost certificate.
    let certificate: Certificate
    /// The matching key of the uppermost certificate's issuer.
    let issuer: NameMatchingKey
    /// Whether the subject and issuer of the uppermost certificate have the same name.
    let isSelfIssued: Bool
    /// The path without the uppermost certificate; nil at the leaf.
    let below: PartialPath?
    /// Whether the uppermost certificate is an anchor.
    let isComplete: Bool
    /// The number of certificates.
    let length: Int
    /// The number of authorities that are not self-issued, to which path length constraints apply (RFC 5280 4.2.1.9).
    let authorities: Int

    /// The number of properties that validation will reject.
    fileprivate(set) var faults: Int
    /// The number of properties that make it less likely that the path is valid, but that validation may accept.
    fileprivate(set) var doubts: Int
    fileprivate var isExamined = false
    /// Whether the signature of the certificate below is known to be valid.
    fileprivate var isSigned = false
    fileprivate var condemned = 0

    fileprivate init(
        certificate: Certificate, issuer: NameMatchingKey, isSelfIssued: Bool, below: PartialPath?,
        isComplete: Bool
    ) {
        self.certificate = certificate
        self.issuer = issuer
        self.isSelfIssued = isSelfIssued
        self.below = below
        self.isComplete = isComplete
        length = (below?.length ?? 0) + 1
        authorities = below.map { $0.authorities + (isSelfIssued ? 0 : 1) } ?? 0
        faults = below?.faults ?? 0
        doubts = below?.doubts ?? 0
        condemned = below?.condemned ?? 0
    }

    /// The certificates, leaf first.
    var certificates: [Certificate] {
        var certificates: [Certificate] = []
        certificates.reserveCapacity(length)
        var place: PartialPath? = self
        while let path = place {
            certificates.append(path.certificate)
            place = path.below
        }
        return certificates.reversed()
    }

    /// Whether the path already contains the authority, by name and key. A path that reaches it again is a loop (RFC
    /// 4158 5.2).
    fileprivate func holdsKey(of other: Certificate) -> Bool {
        var place: PartialPath? = self
        while let path = place {
            if path.certificate.publicKey == other.publicKey, path.certificate.subject == other.subject {
                return true
            }
            place = path.below
        }
        return false
    }
}
