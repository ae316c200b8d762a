internal import Foundation
package import OpenSSL

/// The revocation lists and OCSP responses that were given, found by who signed the list.
package struct RevocationPool: Sendable {
    private var lists: [NameMatchingKey: [EncodedRevocationList]]
    private var responses: [StatusResponse]
    /// Whether revocation is to be settled: usually because something was given that should settle it.
    package var isRequired: Bool

    /// The most certificates beside the path that may have to do with the signing of a list.
    private static let mostSigners = 64

    /// A pool of lists and responses.
    ///
    /// - Parameters:
    ///   - lists: revocation lists, as they were given.
    ///   - responses: status responses, as they were given.
    ///   - isRequired: whether revocation is to be settled even where both are empty, as where a folder was
    ///     given that holds no list.
    package init(
        lists: [EncodedRevocationList] = [], responses: [StatusResponse] = [], isRequired: Bool = false
    ) {
        self.lists = Dictionary(grouping: lists, by: \.issuer.matchingKey)
        self.responses = responses
        self.isRequired = isRequired || !lists.isEmpty || !responses.isEmpty
    }

    /// This pool and further lists and responses; whether revocation is to be settled stays as it is.
    package func adding(
        lists more: [EncodedRevocationList] = [], responses: [StatusResponse] = []
    ) -> RevocationPool {
        var pool = self
        pool.lists.merge(Dictionary(grouping: more, by: \.issuer.matchingKey)) { $0 + $1 }
        pool.responses += responses
        return pool
    }

    /// The URLs of deltas that the complete lists of an issuer name, each once.
    func deltaURLs(of issuer: DistinguishedName) -> [String] {
        var urls: [String] = []
        for list in lists[issuer.matchingKey] ?? [] where !list.isDelta {
            urls += list.deltaURLs.filter { !urls.contains($0) }
        }
        return urls
    }

    /// What concerns the certificates of a path: lists by their issuers' names and by those that their
    /// distribution points name, and the certificates that may have signed these.
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
                    guard selection.certificates.insert(signer).inserted else { continue }
                    material.listSigners.append(signer)
                    pending.append(signer)
                }
            }
            // The way from a signer up to the anchor.
            guard !path.contains(certificate) else { continue }
            for issuer in pool.members(named: pool.key(of: certificate.issuer)).map(\.certificate)
            where selection.certificates.count < path.count + Self.mostSigners {
                guard selection.certificates.insert(issuer).inserted else { continue }
                material.listSigners.append(issuer)
                pending.append(issuer)
            }
        }
        (material.lists, material.omission) = selection.limited(at: date, limits)
        return material
    }

    private struct Selection {
        var names: Set<NameMatchingKey> = []
        var certificates: Set<Certificate>
        var lists: [EncodedRevocationList] = []

        init(path: [Certificate]) { certificates = Set(path) }

        /// The lists as far as the limits reach: the current ones first, the newest first.
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
                "\(omitted) revocation lists were left out: a path may need \(limits.lists) of them and "
                    + "\(limits.listOctets >> 20) MiB"
            )
        }
    }
}
