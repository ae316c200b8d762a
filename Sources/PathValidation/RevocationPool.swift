internal import Foundation
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
        for path: [Certificate], _ pool: CertificatePool, _ limits: PathLimits,
        _ objects: VerificationObjects
    ) -> RevocationMaterial {
        var material = RevocationMaterial()
        material.isRequired = isRequired
        material.responses = responses
        guard !lists.isEmpty else { return material }
        var names: Set<NameMatchingKey> = []
        var signers = ListSigners(path, pool, objects)
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
        responses.filter { path.contains(where: $0.mayBeAbout) }
            .flatMap { $0.contents()?.certificates ?? [] }
            .filter { responder in
                !objects.hasTooManyPoints(responder)
                    && path.dropFirst().contains { objects.isSigned(responder, by: $0) }
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
/// Anyone can create a certificate with the name of an authority. So each of them must have been issued by an authority
/// of the path, directly or through others.
private struct ListSigners {
    /// The maximum number of ``certified``.
    private static let most = 64
    /// The maximum number of signatures by certificates outside the path.
    private static let mostSignatures = 1_024

    private let path: [Certificate]
    private let pool: CertificatePool
    private let objects: VerificationObjects
    private var seen: Set<Certificate>
    private var signatures = 0
    /// The signers, and the authorities between them and the path.
    private(set) var certified: [Certificate] = []
    /// Whether there may be more signers than the limits allow.
    private(set) var areTooMany = false

    init(_ path: [Certificate], _ pool: CertificatePool, _ objects: VerificationObjects) {
        self.path = path
        self.pool = pool
        self.objects = objects
        seen = Set(path)
    }

    /// Adds the signers with a name to ``certified``.
    ///
    /// - Returns: The added certificates.
    mutating func add(named key: NameMatchingKey) -> [Certificate] {
        let first = certified.count
        for member in pool.members(named: key)
        where isUsable(member.certificate) && seen.insert(member.certificate).inserted {
            for certificate in links(from: member) where !certified.contains(certificate) {
                guard certified.count < Self.most else {
                    areTooMany = true
                    break
                }
                certified.append(certificate)
            }
        }
        return Array(certified[first...])
    }

    /// The certificates from a signer up to the path, found breadth-first; empty if no authority of the path certified
    /// the signer.
    private mutating func links(from signer: CertificatePool.Member) -> [Certificate] {
        // The trust anchor need not be self-signed, so its own issuer can sign a list, too.
        if let anchor = path.last, objects.isSigned(anchor, by: signer.certificate) {
            return [signer.certificate]
        }
        // In a mesh of authorities, many certificates can contain a key of the path.
        let isKnownKey = (path + certified).contains {
            $0.subject == signer.certificate.subject && $0.publicKey == signer.certificate.publicKey
        }
        var visited = Set([signer.certificate])
        var queue = [(signer, links: [signer.certificate])]
        while !queue.isEmpty {
            let (member, links) = queue.removeFirst()
            let isCertified = (path.dropFirst() + certified.filter(\.isCertificateAuthority)).contains {
                pool.key(of: $0.subject) == member.issuer && objects.isSigned(member.certificate, by: $0)
            }
            if isCertified { return links }
            if isKnownKey { return [] }
            for issuer in pool.members(named: member.issuer)
            where issuer.certificate.isCertificateAuthority && isUsable(issuer.certificate)
                && !visited.contains(issuer.certificate)
            {
                signatures += 1
                guard signatures <= Self.mostSignatures else {
                    areTooMany = true
                    return []
                }
                if objects.isSigned(member.certificate, by: issuer.certificate) {
                    visited.insert(issuer.certificate)
                    queue.append((issuer, links + [issuer.certificate]))
                }
            }
        }
        return []
    }

    private func isUsable(_ certificate: Certificate) -> Bool {
        !objects.hasTooManyPoints(certificate) && !objects.hasTooManyPolicies(certificate)
    }
}
