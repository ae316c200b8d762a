internal import Foundation
internal import KeySharing
package import OpenSSL

/// The available revocation lists and OCSP responses. Lists are indexed by issuer.
package struct RevocationPool: Sendable {
    private var lists: [NameMatchingKey: [EncodedRevocationList]]
    private var responses: [StatusResponse]
    /// Whether the revocation status must be determined. By default, it must be determined if the pool contains a list
    /// or a response.
    package var isRequired: Bool

    /// Creates a pool of lists and responses.
    ///
    /// - Parameters:
    ///   - lists: The revocation lists.
    ///   - responses: The OCSP responses.
    ///   - isRequired: Whether the revocation status must be determined even if there are no lists and no responses,
    ///     for example because the given folder is empty.
    package init(
        lists: [EncodedRevocationList] = [], responses: [StatusResponse] = [], isRequired: Bool = false
    ) {
        self.lists = Dictionary(grouping: lists, by: \.issuer.matchingKey)
        self.responses = responses
        self.isRequired = isRequired || !lists.isEmpty || !responses.isEmpty
    }

    /// Returns this pool with additional lists and responses. ``isRequired`` does not change.
    package func adding(
        lists more: [EncodedRevocationList] = [], responses: [StatusResponse] = []
    ) -> RevocationPool {
        var pool = self
        pool.lists.merge(Dictionary(grouping: more, by: \.issuer.matchingKey)) { $0 + $1 }
        pool.responses += responses
        return pool
    }

    /// The URLs of delta lists in the complete lists of an issuer, without duplicates.
    func deltaURLs(of issuer: DistinguishedName) -> [String] {
        var urls: [String] = []
        for list in lists[issuer.matchingKey] ?? [] where !list.isDelta {
            urls += list.deltaURLs.filter { !urls.contains($0) }
        }
        return urls
    }

    /// The material for the certificates of a path: the lists of their issuers and of the issuers in their
    /// distribution points, and the certificates that may have signed these lists.
    func material(
        for path: [Certificate], _ pool: CertificatePool, at date: Date, _ limits: PathLimits,
        _ objects: VerificationObjects
    ) -> RevocationMaterial {
        var material = RevocationMaterial()
        material.isRequired = isRequired
        material.responses = responses
        guard !lists.isEmpty else { return material }
        var names: Set<NameMatchingKey> = []
        var signers = ListSigners(path, pool, at: date, objects)
        var pending = path + responders(for: path, objects)
        while let certificate = pending.popLast() {
            let points = objects.distributionPoints(of: certificate).flatMap(\.issuers)
            for key in ([certificate.issuer] + points).map(pool.key) {
                guard names.insert(key).inserted, let found = lists[key] else { continue }
                material.lists += found
                pending += signers.add(named: key)
            }
        }
        material.listSigners = signers.certified
        if limits.areExceeded(by: material.lists) {
            // Anyone can provide any number of forged lists.
            material.lists.removeAll { list in
                !(path.dropFirst() + signers.certified).contains {
                    $0.subject.matchingKey == list.issuer.matchingKey && objects.isSigned(list, by: $0)
                }
            }
        }
        if limits.areExceeded(by: material.lists) {
            material.lists = []
            material.refusal =
                "a path may have at most \(limits.lists) revocation lists, and \(limits.listOctets >> 20) MiB of them"
        } else if signers.areTooMany {
            material.refusal = "too many certificates have the names of the signers of the path's lists"
        } else if let certificate = path.first(where: objects.hasTooManyPoints) {
            material.lists = []
            material.refusal =
                "no list can be used, because \(certificate.subject) has more than \(DistributionPoint.mostNames) "
                + "distribution points or names in them"
        }
        return material
    }

    /// The certificates of OCSP responders that an authority of the path issued. Their status may be in lists of other
    /// signers.
    private func responders(for path: [Certificate], _ objects: VerificationObjects) -> [Certificate] {
        responses.filter { path.contains(where: $0.mayBeAbout) }.flatMap { response in
            path.dropFirst().compactMap { authority in
                response.responder(certifiedBy: authority).flatMap { responder in
                    objects.isIssued(responder, by: authority) && !objects.hasTooManyPoints(responder)
                        ? responder : nil
                }
            }
        }
    }
}

extension PathLimits {
    fileprivate func areExceeded(by lists: [EncodedRevocationList]) -> Bool {
        lists.count > self.lists || lists.reduce(0) { $0 + $1.count } > listOctets
    }
}

/// The certificates outside a path that may have signed revocation lists.
///
/// Anyone can create a certificate with the name of an authority. So each of them must have a path of its own to an
/// authority of the path (RFC 5280 6.3.3 (f)); only revocation is checked later.
private struct ListSigners {
    /// The maximum number of ``certified``.
    private static let most = 64
    /// The number of signatures that are verified before the time of the search is checked.
    private static let uncheckedSignatures = 256

    /// A candidate with its issuer outside the path; nil if an authority of the path issued it.
    private struct Link {
        let certificate: Certificate
        let issuer: Int?
        /// The authorities above it.
        let authorities: [Certificate]
    }

    private let path: [Certificate]
    private let pool: CertificatePool
    private let date: Date
    private let objects: VerificationObjects
    private var seen: Set<Certificate>
    private var candidates: [CertificatePool.Member] = []
    private var links: [Link] = []
    /// The positions of the authorities among `links`.
    private var authorities: [NameMatchingKey: [Int]] = [:]
    private var signatures = 0
    /// The signers, and the authorities between them and the path, which come first.
    private(set) var certified: [Certificate] = []
    /// Whether there may be more signers than the limits allow.
    private(set) var areTooMany = false

    init(_ path: [Certificate], _ pool: CertificatePool, at date: Date, _ objects: VerificationObjects) {
        self.path = path
        self.pool = pool
        self.date = date
        self.objects = objects
        seen = Set(path)
    }

    /// Adds the signers with a name to ``certified``.
    ///
    /// - Returns: The added certificates.
    mutating func add(named key: NameMatchingKey) -> [Certificate] {
        let first = certified.count
        collect(named: key)
        certify()
        for link in links where pool.key(of: link.certificate.subject) == key { use(link) }
        return Array(certified[first...])
    }

    /// Adds the certificates with a name to the candidates, and those that may be above them.
    private mutating func collect(named key: NameMatchingKey) {
        var pending = [key]
        while let key = pending.popLast() {
            for member in pool.members(named: key)
            where member.certificate.isValid(at: date) && !objects.hasTooManyPoints(member.certificate)
                && !objects.hasTooManyPolicies(member.certificate)
                && seen.insert(member.certificate).inserted
            {
                candidates.append(member)
                // In a mesh of authorities, many certificates contain a key of the path.
                let isOfPath = path.contains {
                    $0.subject == member.certificate.subject && $0.publicKey == member.certificate.publicKey
                }
                if !isOfPath { pending.append(member.issuer) }
            }
        }
    }

    /// Adds a link for each candidate that an authority issued.
    private mutating func certify() {
        var hasChanged = true
        while hasChanged, !areTooMany {
            hasChanged = false
            var rest: [CertificatePool.Member] = []
            for member in candidates {
                if let link = link(to: member) {
                    if link.certificate.isCertificateAuthority {
                        let key = pool.key(of: link.certificate.subject)
                        authorities[key, default: []].append(links.count)
                    }
                    links.append(link)
                    hasChanged = true
                } else {
                    rest.append(member)
                }
            }
            candidates = rest
        }
    }

    private mutating func link(to member: CertificatePool.Member) -> Link? {
        let certificate = member.certificate
        // The trust anchor need not be self-signed, so its own issuer can sign a list, too.
        if let anchor = path.last, !objects.isSelfSigned(anchor), objects.isIssued(anchor, by: certificate) {
            return Link(certificate: certificate, issuer: nil, authorities: [])
        }
        for index in path.indices.dropFirst() where issued(member, Array(path[index...])) {
            return Link(certificate: certificate, issuer: nil, authorities: Array(path[index...]))
        }
        for index in authorities[member.issuer] ?? [] {
            let above = [links[index].certificate] + links[index].authorities
            if issued(member, above) {
                return Link(certificate: certificate, issuer: index, authorities: above)
            }
        }
        return nil
    }

    /// Whether the first of some authorities issued a certificate, and all of them permit its names.
    private mutating func issued(_ member: CertificatePool.Member, _ authorities: [Certificate]) -> Bool {
        guard !areTooMany, let issuer = authorities.first, pool.key(of: issuer.subject) == member.issuer,
            issuer.keyUsage?.contains(.keyCertSign) ?? true
        else { return false }
        signatures += 1
        guard signatures <= Self.uncheckedSignatures || !objects.isSearchOver else {
            areTooMany = true
            return false
        }
        return objects.isSigned(member.certificate, by: issuer)
            && authorities.allSatisfy { objects.keepsNames(member.certificate, under: $0) }
    }

    /// Adds a signer to ``certified``, after the authorities above it.
    private mutating func use(_ link: Link) {
        if let issuer = link.issuer { use(links[issuer]) }
        guard !certified.contains(link.certificate) else { return }
        guard certified.count < Self.most else {
            areTooMany = true
            return
        }
        certified.append(link.certificate)
    }
}
