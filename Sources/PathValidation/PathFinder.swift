internal import KeySharing
internal import Foundation
internal import OpenSSL

/// Finds the paths from one certificate up to the anchors of a pool, the likeliest and shortest first.
///
/// RFC 4158 calls this building in the forward direction. Partial paths wait in a queue by rank: those without a
/// fault first, then those without a doubt, then those that can become the shortest path. A fault is something
/// that validation refuses and that is cheap to see; it puts a path at the end of the queue and never away, so
/// that validation has the last word. The finder belongs to one thread.
final class PathFinder {
    /// What the finder looks for beside the pool.
    struct Request {
        let leaf: Certificate
        let date: Date
        let mostLinks: Int
        let allowsExpired: Bool
        /// The policies of which a path must be valid for one; nil where none is demanded.
        let policies: Set<String>?
    }

    private let pool: CertificatePool
    private let request: Request
    private let objects: VerificationObjects
    private var queue: [Rank: [PartialPath]] = [:]
    private var waiting = 0
    private var condemned: Set<Certificate> = []

    /// The longest partial path that no issuer continues: what is told where there is no path.
    private(set) var deadEnd: PartialPath?
    /// How many partial paths were taken out of the queue.
    private(set) var steps = 0

    /// A finder for `request`; `objects` remembers signatures and names from one path to the next.
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

    /// Whether the issuers of the leaf, as far as they are known, all have one key.
    var hasOneIssuerKey: Bool {
        let keys = pool.members(named: pool.key(of: request.leaf.issuer)).map(\.certificate.publicKey.spki)
        return Set(keys).count <= 1
    }

    /// Puts paths through `certificate` at the end: it was found to be of no use on any path.
    func condemn(_ certificate: Certificate) { condemned.insert(certificate) }

    /// The next path up to an anchor; nil where there is none left, or after `mostSteps` steps in all.
    func next(within mostSteps: Int) -> PartialPath? {
        while steps < mostSteps, let path = pop() {
            steps += 1
            // Where nothing else waits, the rank does not matter and validation finds the faults.
            if waiting > 0, examine(path) {
                push(path)
            } else if path.isComplete {
                return path
            } else {
                extend(path)
            }
        }
        return nil
    }

    /// Whether nothing waits any more.
    var isExhausted: Bool { waiting == 0 }

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
        // The queue gives back last what it got first: the best comes last.
        var next: [PartialPath] = []
        for member in issuers {
            let certificate = member.certificate
            guard !path.holdsKey(of: certificate) else { continue }
            let isAnchor = member.isTrusted && isAnchor(certificate)
            // A self-signed certificate that nobody trusts leads nowhere else.
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

    /// Whether the key identifiers of both certificates are there and differ (RFC 4158 3.5.12).
    private func hasOtherKeyIdentifier(_ issuer: Certificate, than certificate: Certificate) -> Bool {
        guard let subject = issuer.subjectKeyIdentifier, let wanted = certificate.authorityKeyIdentifier
        else {
            return false
        }
        return subject != wanted
    }

    /// Whether an authority's certificate is out of its time, or no authority's.
    private func isOutOfOrder(_ certificate: Certificate, isAnchor: Bool) -> Bool {
        if certificate.notBefore > request.date { return true }
        if certificate.notAfter < request.date, !request.allowsExpired { return true }
        if !isAnchor, !certificate.isCertificateAuthority { return true }
        return certificate.keyUsage.map { !$0.contains(.keyCertSign) } ?? false
    }

    // MARK: - Looking ahead

    /// Looks at what costs more than a comparison, once for each partial path.
    ///
    /// - Returns: whether the path has got faults by that and belongs further back in the queue.
    private func examine(_ path: PartialPath) -> Bool {
        let before = path.faults
        let useless = path.certificates.count { condemned.contains($0) }
        path.faults += max(0, useless - path.condemned)
        path.condemned = useless
        guard !path.isExamined, let below = path.below else { return path.faults > before }
        path.isExamined = true
        if !objects.isSigned(below.certificate, by: path.certificate) { path.faults += 1 }
        let constraints = objects.constraints(of: path.certificate)
        if let most = constraints.pathLength, below.authorities > most { path.faults += 1 }
        if constraints.hasNameConstraints, !keepsNames(below, under: path.certificate) { path.faults += 1 }
        if let wanted = request.policies, !leavesPolicy(path, of: wanted) { path.faults += 1 }
        return path.faults > before
    }

    /// Whether the names below are within the constraints; those of self-issued authorities may be outside
    /// (RFC 5280 6.1.3 (b)).
    private func keepsNames(_ path: PartialPath, under authority: Certificate) -> Bool {
        var place: PartialPath? = path
        while let path = place {
            let counts = !path.isSelfIssued || path.below == nil
            if counts, !objects.keepsNames(path.certificate, under: authority) { return false }
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

/// A path from the leaf up to some certificate, which shares what is below with other paths.
final class PartialPath {
    /// The uppermost certificate.
    let certificate: Certificate
    /// The issuer's name of the uppermost certificate.
    let issuer: NameMatchingKey
    /// Whether the uppermost certificate has one name for subject and issuer.
    let isSelfIssued: Bool
    /// The path without the uppermost certificate; nil at the leaf.
    let below: PartialPath?
    /// Whether the uppermost certificate is an anchor.
    let isComplete: Bool
    /// How many certificates there are.
    let length: Int
    /// How many authorities there are that are not self-issued, which path lengths count (RFC 5280 4.2.1.9).
    let authorities: Int

    /// What validation will refuse.
    fileprivate(set) var faults: Int
    /// What makes the path less likely, and validation may accept.
    fileprivate(set) var doubts: Int
    fileprivate var isExamined = false
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

    /// Whether the authority is there already, by name and key: a path that comes back to it is a loop
    /// (RFC 4158 5.2).
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
