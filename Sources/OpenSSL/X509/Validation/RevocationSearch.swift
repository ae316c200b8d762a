internal import COpenSSL
package import Foundation
internal import KeySharing

/// A search for certificates in all lists of a verification, also in those that OpenSSL does not consult. For signers
/// outside the path, it also uses the OCSP responses.
///
/// OpenSSL consults one complete list for each certificate, and sometimes a delta list. It prefers a list whose next
/// update is not due, and a list that was signed with the key on the path. None of this must hide a revocation. A
/// revocation other than a hold is final (RFC 5280 3.3, 5.3.1), so every authentic list of the past can show it,
/// whatever other lists contain.
package struct RevocationSearch {
    /// The lists that can be used.
    let lists: [EncodedRevocationList]
    /// The lists whose signatures are too weak, each with the reason. They can revoke a certificate, but they cannot
    /// show that it is not revoked.
    let weakLists: [(list: EncodedRevocationList, reason: String)]
    /// The lists with malformed entries, for example, except those in `weakLists`. They may revoke a certificate.
    let unusableLists: [EncodedRevocationList]

    /// The certificates outside the path that may have signed a list, and their issuers. None of them is revoked.
    private(set) var otherSigners: [Certificate] = []
    /// Those of ``otherSigners`` that have a weak RSA exponent, or are only below such certificates. Their lists can revoke
    /// certificates, but settle nothing.
    private(set) var weakSigners: Set<Certificate> = []
    /// The other certificates outside the path that may have signed a list. They are revoked, or are below a revoked
    /// certificate.
    private var revokedSigners: [Certificate] = []

    /// The certificates of the path, leaf first.
    private let path: [Certificate]
    /// The certificates on and outside the path that may have signed a list, by name.
    private let possibleSigners: [NameMatchingKey: [Certificate]]
    /// Those of ``possibleSigners`` whose lists count.
    private var signers: [NameMatchingKey: [Certificate]] = [:]
    private let signersOfLists = SignersOfLists()
    /// The OCSP responses, which can revoke the certificates outside the path.
    private var responses: [StatusResponse]
    private let securityLevel: Int?
    private let date: Date
    private let objects: VerificationObjects

    /// The status of a certificate in the lists.
    enum Status {
        /// Neither a list nor a response revokes the certificate. There may be no list that covers it.
        case notRevoked
        case revoked
        /// The certificate may be revoked; the text is the reason.
        case unknown(String)
    }

    /// Prepares a search in the lists of `material`.
    ///
    /// - Parameters:
    ///   - material: The lists, the certificates outside the path that may have signed them, and OCSP responses, which
    ///     may revoke these certificates.
    ///   - path: The certificates of the path, leaf first.
    ///   - date: The time of the verification. Later lists are ignored.
    ///   - securityLevel: The minimum strength of the signatures of lists; nil for any.
    ///   - objects: A cache of lists and certificates that OpenSSL has already decoded.
    package init(
        _ material: RevocationMaterial, path: [Certificate], at date: Date, securityLevel: Int?,
        _ objects: VerificationObjects
    ) {
        weakLists = material.lists.compactMap { list in
            DigestStrength.weakness(ofDigest: list.digest, below: securityLevel).map { (list, $0) }
        }
        let strong = material.lists.filter {
            DigestStrength.weakness(ofDigest: $0.digest, below: securityLevel) == nil
        }
        lists = strong.filter { objects.defect(of: $0) == nil }
        unusableLists = strong.filter { objects.defect(of: $0) != nil }
        responses = material.responses
        self.path = path
        self.securityLevel = securityLevel
        self.date = date
        self.objects = objects
        let signing = material.listSigners.filter { $0.keyUsage?.contains(.cRLSign) ?? true }
        possibleSigners = Dictionary(grouping: path.dropFirst() + signing, by: \.subject.matchingKey)
        // Lists of signers outside the path can revoke others of them.
        useSigners([])
        useSigners(unrevoked(material.listSigners))
        useSigners(unrevoked(otherSigners))
        revokedSigners = material.listSigners.filter { !otherSigners.contains($0) }
        findWeakSigners()
    }

    private mutating func useSigners(_ others: [Certificate]) {
        otherSigners = others
        let counting = Set(path.dropFirst() + others)
        signers = possibleSigners.mapValues { $0.filter(counting.contains) }
    }

    private mutating func findWeakSigners() {
        func isWeak(_ signer: Certificate) -> Bool {
            signer.publicKey.exponentWeakness(below: securityLevel) != nil
        }
        guard otherSigners.contains(where: isWeak) else { return }
        // Issuers precede what they issued.
        for signer in otherSigners {
            let issuers = (path.dropFirst() + otherSigners).filter { objects.isIssued(signer, by: $0) }
            if isWeak(signer) || !issuers.isEmpty && issuers.allSatisfy(weakSigners.contains) {
                weakSigners.insert(signer)
            }
        }
    }

    /// The candidates without those that a list revokes and those below them. Issuers must precede what they issued.
    private func unrevoked(_ candidates: [Certificate]) -> [Certificate] {
        candidates.reduce(into: []) { accepted, candidate in
            // The trust anchor need not be self-signed, so its own issuer can sign a list, too.
            let isIncluded =
                path.last.map { objects.isIssued($0, by: candidate) } ?? false
                || (path.dropFirst() + accepted).contains { objects.isIssued(candidate, by: $0) }
            if isIncluded, revocation(of: candidate) == nil { accepted.append(candidate) }
        }
    }

    // MARK: - Revocations

    /// A list that contains a certificate, its signer, and the certificate's entry.
    private struct Finding {
        let list: EncodedRevocationList
        let signer: Certificate
        let entry: VerificationObjects.Entry
        let isWeak: Bool

        /// The list, if its entry is a revocation.
        var lookup: VerifierRun.Lookup? {
            guard case .revoked(let revocation) = entry else { return nil }
            return (list, signer, revocation)
        }
    }

    /// The list that revokes a certificate; nil if none does. A hold counts unless it was lifted later. Lists that were
    /// signed with the key of the certificate, or of one below it, do not count.
    func revocation(of certificate: Certificate) -> VerifierRun.Lookup? {
        let findings = findings(of: certificate)
        let revoking = findings.compactMap(\.lookup)
        return revoking.first { $0.revocation?.isHold == false }
            ?? revoking.first { !isLifted(hold: $0, of: certificate, findings) }
    }

    /// The authentic lists that contain a certificate, from the newest to the oldest.
    private func findings(of certificate: Certificate) -> [Finding] {
        let candidates = lists.map { ($0, false) } + weakLists.map { ($0.list, true) }
        let subordinates = path.prefix(path.count - authorities(above: certificate).count) + [certificate]
        return candidates.filter { $0.0.thisUpdate <= date && objects.mayContain($0.0, certificate) }
            .sorted { $0.0.isNewer(than: $1.0) }
            .compactMap { list, isWeak in
                // The signature is verified first, because a forged list can have very many entries of the certificate.
                guard let signer = signers(of: list).first(where: { !subordinates.contains($0) }),
                    let entry = objects.entry(of: certificate, in: list), !entry.isAbsent
                else { return nil }
                return Finding(list: list, signer: signer, entry: entry, isWeak: isWeak)
            }
    }

    /// Whether a later list lifts a hold: a current delta list with removeFromCRL, or a complete list without the
    /// certificate that replaces the list with the hold. An authority above the certificate, or the signer of the hold,
    /// must have signed it before the certificate expired: expired certificates are also removed (RFC 5280 5.3.1).
    private func isLifted(
        hold: VerifierRun.Lookup, of certificate: Certificate, _ findings: [Finding]
    ) -> Bool {
        let trusted = authorities(above: certificate) + [hold.signer].compactMap(\.self)
        let isRemoved = findings.contains { finding in
            guard case .removed = finding.entry else { return false }
            let list = finding.list
            return !finding.isWeak && list.isCurrent(at: date) && list.isNewer(than: hold.list)
                && list.issuerKey == hold.list.issuerKey && list.scope == hold.list.scope
                && list.keeps(certificate) && !objects.hasUnknownCriticalExtension(list)
                && trusted.contains(finding.signer)
        }
        if isRemoved { return true }
        let containing = Set(findings.map { ObjectIdentifier($0.list) })
        return lists.contains { list in
            !list.isDelta && list.thisUpdate <= date && list.replaces(hold.list)
                && list.keeps(certificate)
                && objects.covers(list, certificate) && !containing.contains(ObjectIdentifier(list))
                && trusted.contains { isSigned(list, by: $0) } && !objects.hasUnknownCriticalExtension(list)
                && objects.entry(of: certificate, in: list)?.isAbsent == true
        }
    }

    /// Whether an OCSP response revokes a certificate outside the path. The response's own responder is looked up only in
    /// the lists, because two responders could otherwise refer to each other.
    private func isRevokedByResponse(_ certificate: Certificate) -> Bool {
        let responses = responses.filter { $0.mayBeAbout(certificate) }
        guard !responses.isEmpty else { return false }
        var lists = self
        lists.responses = []
        return (path.dropFirst() + otherSigners).contains { issuer in
            objects.isIssued(certificate, by: issuer)
                && responses.contains { response in
                    response.finding(
                        on: certificate, issuedBy: issuer, at: date, securityLevel: securityLevel,
                        lists: lists, objects
                    ).isRevocation
                }
        }
    }

    /// The status of a list's signer or of an OCSP responder.
    ///
    /// If it is revoked only by a response, or by the list of a revoked signer, the status is unknown: what it signed
    /// settles nothing, but can still revoke. Otherwise the holder of one stolen key could cancel the revocations of
    /// others, and its own.
    func status(of certificate: Certificate) -> Status {
        if revocation(of: certificate) != nil { return .revoked }
        if isRevokedByResponse(certificate) { return .unknown("an OCSP response revokes it") }
        if !revokedSigners(ofListsCovering: certificate, isConsulted: true).isEmpty {
            return .unknown("a list of a revoked signer revokes it")
        }
        for list in unusableLists + weakLists.map(\.list) where objects.covers(list, certificate) {
            // A list that is older than the certificate cannot contain it.
            guard let defect = objects.defect(of: list), list.thisUpdate >= certificate.notBefore,
                list.thisUpdate <= date
            else { continue }
            let signers = signers(of: list)
            if !signers.isEmpty, !isReplaced(list, of: signers, covering: certificate) {
                return .unknown("a list that may revoke it is unusable: \(defect)")
            }
        }
        return .notRevoked
    }

    /// The signers of the lists that cover a certificate, if they are revoked or below a revoked certificate.
    ///
    /// - Parameter isConsulted: Whether OpenSSL consulted another list for the certificate. Then only the lists that
    ///   revoke it matter, and only if an authority of the path issued the signer's certificate.
    func revokedSigners(
        ofListsCovering certificate: Certificate, isConsulted: Bool
    ) -> [Certificate] {
        // A forged list can have very many entries of the certificate, so signatures are verified before entries are read.
        let covering = revokedSigners.isEmpty ? [] : lists.filter { objects.covers($0, certificate) }
        return revokedSigners.filter { signer in
            guard !isConsulted || path.dropFirst().contains(where: { objects.isIssued(signer, by: $0) })
            else {
                return false
            }
            return covering.contains { list in
                guard isSigned(list, by: signer) else { return false }
                guard isConsulted else { return true }
                if case .revoked? = objects.entry(of: certificate, in: list) { return true }
                return false
            }
        }
    }

    // MARK: - Unusable lists

    /// The reasons why lists that cover a certificate of the path are unusable, because they may revoke it.
    ///
    /// A list is ignored if another one replaces it: a list that OpenSSL consulted and an authority above the certificate
    /// signed, or a usable list of the same signer. It is also ignored if it is not authentic, because anyone can
    /// create such a list.
    func defects(ofListsCovering certificate: Certificate, consulted: [VerifierRun.Lookup]) -> [String] {
        let authorities = authorities(above: certificate)
        let known = consulted.filter { $0.signer.map(authorities.contains) ?? false }.map(\.list)
        return (unusableLists + weakLists.map(\.list)).compactMap { list in
            guard objects.covers(list, certificate), let reason = objects.defect(of: list),
                list.thisUpdate <= date, !known.contains(where: { $0.replaces(list) })
            else { return nil }
            let signers = signers(of: list)
            return signers.isEmpty || isReplaced(list, of: signers, covering: certificate) ? nil : reason
        }
    }

    /// Whether a usable list of the same signer replaces an unusable list. It must be current, and have been issued before
    /// the certificate expired.
    private func isReplaced(
        _ list: EncodedRevocationList, of signers: [Certificate], covering certificate: Certificate
    ) -> Bool {
        lists.contains { other in
            other.replaces(list) && other.isCurrent(at: date) && other.thisUpdate <= certificate.notAfter
                && !objects.hasUnknownCriticalExtension(other)
                && signers.contains { isSigned(other, by: $0) }
        }
    }

    // MARK: - Signers

    /// Whether a known certificate with the issuer's name signed a list. None of these is revoked.
    func isAuthentic(_ list: EncodedRevocationList) -> Bool { !signers(of: list).isEmpty }

    /// The certificates that signed a list; empty if it is not authentic.
    private func signers(of list: EncodedRevocationList) -> [Certificate] {
        guard let counting = signers[list.issuerKey] else { return [] }
        return allSigners(of: list).filter(counting.contains)
    }

    /// Those of ``possibleSigners`` that signed a list. An attacker can provide many of both, and each list is searched for
    /// many certificates.
    private func allSigners(of list: EncodedRevocationList) -> [Certificate] {
        if let known = signersOfLists.known[ObjectIdentifier(list)] { return known }
        let signers = (possibleSigners[list.issuerKey] ?? []).filter { objects.isSigned(list, by: $0) }
        signersOfLists.known[ObjectIdentifier(list)] = signers
        return signers
    }

    /// A cache that all copies of a search share.
    private final class SignersOfLists {
        var known: [ObjectIdentifier: [Certificate]] = [:]
    }

    /// The certificates of the path above a certificate, or all authorities if it is not on the path.
    private func authorities(above certificate: Certificate) -> ArraySlice<Certificate> {
        path.firstIndex(of: certificate).map { path[($0 + 1)...] } ?? path.dropFirst()
    }

    private func isSigned(_ list: EncodedRevocationList, by signer: Certificate) -> Bool {
        signer.subject.matchingKey == list.issuerKey && objects.isSigned(list, by: signer)
    }
}
