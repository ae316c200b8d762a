internal import Foundation
internal import KeySharing
internal import OpenSSL

/// The certificates outside a path that may have signed revocation lists.
///
/// Anyone can create a certificate with the name of an authority. So each of them must have a path of its own to an
/// authority of the path (RFC 5280 6.3.3 (f)); only revocation is checked later. Each certificate is examined once.
struct ListSigners {
    /// The maximum number of ``certified``.
    private static let most = 64

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
    /// The trust anchor, if it is not self-signed.
    private let anchor: Certificate?
    /// Whether there is a self-signed certificate of the anchor's issuer; nil if it is not known yet.
    private var hasSelfSignedIssuer: Bool?
    /// The names whose certificates were examined.
    private var names: Set<NameMatchingKey> = []
    /// The certificates that no known authority issued, by the name of the issuer.
    private var waiting: [NameMatchingKey: [CertificatePool.Member]] = [:]
    private var links: [Link] = []
    /// The positions of the authorities among `links`.
    private var authorities: [NameMatchingKey: [Int]] = [:]
    /// The signed parts of the path and of `links`. Anyone can change the encoding of a certificate outside its signed
    /// part, and all these variants count as one.
    private var signedParts: Set<[UInt8]>
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
        anchor = path.last.flatMap { objects.isSelfSigned($0) ? nil : $0 }
        signedParts = Set(path.map(\.signedPart))
    }

    /// Adds the signers with a name to ``certified``.
    ///
    /// - Returns: The added certificates.
    mutating func add(named key: NameMatchingKey) -> [Certificate] {
        let first = certified.count
        certify(candidates(named: key))
        for link in links where pool.key(of: link.certificate.subject) == key { use(link) }
        return Array(certified[first...])
    }

    /// The new certificates with a name, and those that may be above them.
    private mutating func candidates(named key: NameMatchingKey) -> [CertificatePool.Member] {
        let known = Set(path)
        var candidates: [CertificatePool.Member] = []
        var pending = [key]
        while let key = pending.popLast() {
            guard names.insert(key).inserted else { continue }
            for member in pool.members(named: key)
            where member.certificate.isValid(at: date) && !known.contains(member.certificate) {
                candidates.append(member)
                // In a mesh of authorities, many certificates contain a key of the path.
                let isOfPath = path.contains {
                    $0.subject == member.certificate.subject && $0.publicKey == member.certificate.publicKey
                }
                if !isOfPath, !names.contains(member.issuer) { pending.append(member.issuer) }
            }
        }
        return candidates
    }

    /// Adds a link for each candidate that an authority issued, and for those that waited for such a candidate.
    private mutating func certify(_ candidates: [CertificatePool.Member]) {
        var added: [Int] = []
        for member in candidates {
            var link = self.link(to: member)
            if link == nil { link = self.link(to: member, below: authorities[member.issuer] ?? []) }
            add(link, to: member, &added)
        }
        while let index = added.popLast() {
            let key = pool.key(of: links[index].certificate.subject)
            for member in waiting.removeValue(forKey: key) ?? [] {
                let link = self.link(to: member, below: [index])
                add(link, to: member, &added)
            }
        }
    }

    /// Adds a link to a certificate, or the certificate to those that wait if the link is nil. Appends the position of
    /// a new authority to `added`.
    private mutating func add(_ link: Link?, to member: CertificatePool.Member, _ added: inout [Int]) {
        guard let link else {
            waiting[member.issuer, default: []].append(member)
            return
        }
        guard signedParts.insert(link.certificate.signedPart).inserted else { return }
        if link.certificate.isCertificateAuthority {
            authorities[pool.key(of: link.certificate.subject), default: []].append(links.count)
            added.append(links.count)
        }
        links.append(link)
    }

    private mutating func link(to member: CertificatePool.Member) -> Link? {
        let certificate = member.certificate
        if isIssuerOfAnchor(certificate) {
            return Link(certificate: certificate, issuer: nil, authorities: [])
        }
        for index in path.indices.dropFirst() where issued(member, Array(path[index...])) {
            return Link(certificate: certificate, issuer: nil, authorities: Array(path[index...]))
        }
        return nil
    }

    private mutating func link(to member: CertificatePool.Member, below indices: [Int]) -> Link? {
        for index in indices {
            let above = [links[index].certificate] + links[index].authorities
            if issued(member, above) {
                return Link(certificate: member.certificate, issuer: index, authorities: above)
            }
        }
        return nil
    }

    /// Whether a certificate can be that of the anchor's issuer. The trust anchor need not be self-signed, so a list of its
    /// own issuer can revoke it.
    ///
    /// The anchor's signature proves only the name and the key. Anyone can create certificates with these, but only the
    /// owner of the key can create a self-signed one. If there is one, the others are not needed.
    private mutating func isIssuerOfAnchor(_ certificate: Certificate) -> Bool {
        guard signedAnchor(certificate), isExaminable(certificate) else { return false }
        if objects.isSelfSigned(certificate) { return true }
        if let known = hasSelfSignedIssuer { return !known }
        let namesakes = pool.members(named: pool.key(of: certificate.subject)).map(\.certificate)
        let isFound = namesakes.contains {
            $0.isValid(at: date) && signedAnchor($0) && objects.isSelfSigned($0)
        }
        hasSelfSignedIssuer = isFound
        return !isFound
    }

    /// Whether the anchor is signed with the key of a certificate. If an attacker may choose the parameters of a key, for
    /// example the base point of a curve, it is easy to find a key that verifies a known signature.
    private mutating func signedAnchor(_ certificate: Certificate) -> Bool {
        guard let anchor, pool.key(of: anchor.issuer) == pool.key(of: certificate.subject),
            certificate.publicKey.hasStandardParameters, countSignature()
        else { return false }
        return objects.isSigned(anchor, by: certificate)
    }

    /// Whether the first of some authorities issued a certificate, and all of them permit its names.
    private mutating func issued(_ member: CertificatePool.Member, _ authorities: [Certificate]) -> Bool {
        guard let issuer = authorities.first, pool.key(of: issuer.subject) == member.issuer,
            issuer.keyUsage?.contains(.keyCertSign) ?? true, countSignature()
        else { return false }
        return objects.isSigned(member.certificate, by: issuer) && isExaminable(member.certificate)
            && authorities.allSatisfy { objects.keepsNames(member.certificate, under: $0) }
    }

    private func isExaminable(_ certificate: Certificate) -> Bool {
        !objects.hasTooManyPoints(certificate) && !objects.hasTooManyPolicies(certificate)
    }

    /// Counts a signature that will be verified. Returns false if there is no time for it.
    private mutating func countSignature() -> Bool {
        guard !areTooMany else { return false }
        signatures += 1
        // The path of a signer has several signatures.
        areTooMany = signatures > 4 * objects.uncheckedSignatures && objects.isSearchOver
        return !areTooMany
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
