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
        self.responses = responses.withoutDuplicates
        self.isRequired = isRequired || !lists.isEmpty || !responses.isEmpty
    }

    /// Returns this pool with additional lists and responses. ``isRequired`` does not change.
    package func adding(
        lists more: [EncodedRevocationList] = [], responses: [StatusResponse] = []
    ) -> RevocationPool {
        var pool = self
        pool.lists.merge(Dictionary(grouping: more, by: \.issuer.matchingKey)) { $0 + $1 }
        pool.responses = (pool.responses + responses).withoutDuplicates
        return pool
    }

    /// Returns this pool without these lists, which are compared by identity.
    package func removing(lists removed: [EncodedRevocationList]) -> RevocationPool {
        let removed = Set(removed.map { ObjectIdentifier($0) })
        var pool = self
        pool.lists = lists.mapValues { $0.filter { !removed.contains(ObjectIdentifier($0)) } }
            .filter { !$0.value.isEmpty }
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
            // Anyone can provide any number of forged lists, and of encodings of a genuine list.
            var signedParts: Set<[UInt8]> = []
            material.lists.removeAll { list in
                let key = pool.key(of: list.issuer)
                let isAuthentic = (path.dropFirst() + signers.certified).contains {
                    pool.key(of: $0.subject) == key && objects.isSigned(list, by: $0)
                }
                guard isAuthentic, let part = try? list.signedPart() else { return !isAuthentic }
                return !signedParts.insert(part).inserted
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
        responses.filter { path.contains(where: $0.mayBeAbout) }.flatMap {
            $0.responders(certifiedBy: path.dropFirst(), objects)
        }.filter { !objects.hasTooManyPoints($0) }
    }
}

extension [StatusResponse] {
    /// The responses, each once. The first one of several equal ones is kept.
    fileprivate var withoutDuplicates: [StatusResponse] {
        var seen: Set<StatusResponse> = []
        return filter { seen.insert($0).inserted }
    }
}

extension PathLimits {
    fileprivate func areExceeded(by lists: [EncodedRevocationList]) -> Bool {
        lists.count > self.lists || lists.reduce(0) { $0 + $1.count } > listOctets
    }
}
