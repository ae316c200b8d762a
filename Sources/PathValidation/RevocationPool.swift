internal import Foundation
package import OpenSSL

/// The available revocation lists and OCSP responses. Lists are indexed by issuer.
package struct RevocationPool: Sendable {
    private var lists: [NameMatchingKey: [EncodedRevocationList]]
    private var responses: [StatusResponse]
    /// Whether the revocation status must be determined. By default, it must be determined if the pool contains a list
    /// or a response.
    package var isRequired: Bool

    /// The maximum number of certificates outside the path that are considered as signers of lists.
    private static let mostSigners = 64

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
        var selection = Selection(path: path)
        var pending = path
        while let certificate = pending.popLast() {
            for name in [certificate.issuer] + objects.distributionPoints(of: certificate).flatMap(\.issuers)
            {
                let key = pool.key(of: name)
                guard selection.names.insert(key).inserted, let found = lists[key] else { continue }
                selection.lists += found
                for signer in pool.members(named: key).map(\.certificate)
                where selection.certificates.count < path.count + Self.mostSigners {
                    guard !objects.hasTooManyPoints(signer), !objects.hasTooManyPolicies(signer),
                        selection.certificates.insert(signer).inserted
                    else { continue }
                    material.listSigners.append(signer)
                    pending.append(signer)
                }
            }
            // Adds the certificates between a signer and the anchor.
            guard !path.contains(certificate) else { continue }
            for issuer in pool.members(named: pool.key(of: certificate.issuer)).map(\.certificate)
            where selection.certificates.count < path.count + Self.mostSigners {
                guard !objects.hasTooManyPoints(issuer), !objects.hasTooManyPolicies(issuer),
                    selection.certificates.insert(issuer).inserted
                else { continue }
                material.listSigners.append(issuer)
                pending.append(issuer)
            }
        }
        (material.lists, material.omission) = selection.limited(at: date, limits)
        if !material.lists.isEmpty, let certificate = path.first(where: objects.hasTooManyPoints) {
            material.lists = []
            material.refusal =
                "no list can be used, because \(certificate.subject) has more than \(DistributionPoint.mostNames) "
                + "distribution points or names in them"
        }
        return material
    }

    private struct Selection {
        var names: Set<NameMatchingKey> = []
        var certificates: Set<Certificate>
        var lists: [EncodedRevocationList] = []

        init(path: [Certificate]) { certificates = Set(path) }

        /// The lists within the limits. Current lists take precedence, and then newer lists.
        func limited(at date: Date, _ limits: PathLimits) -> ([EncodedRevocationList], String?) {
            let sorted = lists.sorted {
                let (left, right) = ($0.isCurrent(at: date), $1.isCurrent(at: date))
                return left == right ? $0.thisUpdate > $1.thisUpdate : left
            }
            var taken: [EncodedRevocationList] = []
            var octets = 0
            var omitted = 0
            for list in sorted {
                if taken.count < limits.lists, octets + list.count <= limits.listOctets || taken.isEmpty {
                    taken.append(list)
                    octets += list.count
                } else {
                    omitted += 1
                }
            }
            guard omitted > 0 else { return (taken, nil) }
            return (
                taken,
                "\(omitted) revocation lists were omitted: a path may use at most \(limits.lists) lists and "
                    + "\(limits.listOctets >> 20) MiB"
            )
        }
    }
}
