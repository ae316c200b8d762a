internal import COpenSSL
internal import Foundation
internal import KeySharing

extension VerifierRun {
    /// The maximum number of complete lists that OpenSSL searches in addition to those that it consulted.
    private static let mostNewerLists = 8

    /// Adds the revocations in lists that OpenSSL did not consult, if they are newer than those that it consulted.
    ///
    /// OpenSSL consults one complete list for each certificate. It prefers a list whose next update is not due, and a
    /// list that was signed with the key on the path. It ignores most delta lists, for example if the complete list has
    /// no number. None of this must hide a later revocation, so the newest authentic list decides.
    ///
    /// - Parameters:
    ///   - input: The input of this run.
    ///   - material: All lists, also those that are not in `input`. Lists whose signatures are too weak only count if
    ///     they revoke a certificate.
    mutating func addNewerRevocations(
        _ verifier: CertificateVerifier, _ input: Input, _ material: RevocationMaterial,
        _ objects: VerificationObjects
    ) {
        var remaining = Self.mostNewerLists
        for depth in chain.indices.dropLast() where !isRevoked(at: depth) {
            let known = trustedLookups(at: depth, objects)
            if let (lookup, revocation) = cancelledRevocation(at: depth, known, input, material, objects) {
                add(lookup, revocation, at: depth)
                continue
            }
            let newer = newerLists(than: known, at: depth, input, material, objects)
            var isRemoved = false
            for (index, item) in newer.enumerated() {
                if item.list.isDelta, item.revocation == nil {
                    isRemoved = isRemoved || item.canRemove(from: known, at: input.date)
                    continue
                }
                // Whether a list covers a certificate that it does not contain only matters if an earlier list does.
                if item.revocation == nil, item.isWeak || newer[index...].allSatisfy({ $0.revocation == nil })
                {
                    continue
                }
                let lookup: Lookup
                if item.list.isDelta {
                    lookup = (item.list, item.signer, item.revocation)
                } else {
                    guard remaining > 0 else {
                        omission = "more than \(Self.mostNewerLists) newer revocation lists were provided"
                        break
                    }
                    remaining -= 1
                    guard let found = lookUp(depth, in: item, verifier, input, objects) else { continue }
                    lookup = found
                }
                if let revocation = lookup.revocation {
                    if !(isRemoved && revocation.isHold) { add(lookup, revocation, at: depth) }
                    break
                }
                // A list of some reasons does not include revocations for the others.
                if lookup.list.scope?.isForSomeReasons != true { break }
            }
        }
    }

    /// A revocation that a delta list cancels with removeFromCRL, although it is not a hold or no such delta list is
    /// current: in the newest complete list, or in a later delta list. OpenSSL accepts every cancellation, and does not
    /// check the dates of a delta list. Nil if there is none.
    private func cancelledRevocation(
        at depth: Int, _ known: [Lookup], _ input: Input, _ material: RevocationMaterial,
        _ objects: VerificationObjects
    ) -> (Lookup, CertificateRevocation)? {
        for delta in known where delta.list.isDelta && delta.revocation == nil {
            guard let signer = delta.signer,
                case .removed? = objects.entry(of: chain[depth], in: delta.list, signers: [signer])?.entry
            else { continue }
            let lists = material.lists.filter {
                $0.issuerKey == delta.list.issuerKey && $0.scope == delta.list.scope
                    && $0.thisUpdate <= input.date && !$0.isNewer(than: delta.list)
            }.sorted { $0.isNewer(than: $1) }
            var newest: EncodedRevocationList?
            var canLiftHold = delta.list.isCurrent(at: input.date)
            for list in lists where newest?.isNewer(than: list) != true {
                guard let entry = objects.entry(of: chain[depth], in: list, signers: [signer])?.entry else {
                    continue
                }
                switch entry {
                case .revoked(let revocation):
                    if !(canLiftHold && revocation.isHold) { return ((list, signer, revocation), revocation) }
                case .removed: canLiftHold = canLiftHold || list.isDelta && list.isCurrent(at: input.date)
                case .absent: break
                }
                if !list.isDelta { newest = newest ?? list }
            }
        }
        return nil
    }

    /// Adds an error for each list whose signer is revoked, although OpenSSL did not notice it: by a delta list, or by a
    /// list that is newer than the one that it consulted. Also adds an error if such a list is unusable.
    mutating func addFindingsAboutListSigners(
        _ material: RevocationMaterial, at date: Date, _ objects: VerificationObjects
    ) {
        for (depth, lookups) in consulted.sorted(by: { $0.key < $1.key }) {
            for signer in lookups.compactMap(\.signer) where !chain.contains(signer) {
                switch status(ofListSigner: signer, material, at: date, objects) {
                case .notRevoked?, nil: break
                case .revoked?: addError("is revoked", ofListSigner: signer, at: depth)
                case .unknown(let reason)?:
                    addError(
                        "may be revoked by an unusable list: \(reason)", ofListSigner: signer, at: depth)
                }
            }
        }
    }

    /// The status of a list's signer in the lists of its issuer; nil if no authority of the path issued the signer's
    /// certificate.
    private func status(
        ofListSigner signer: Certificate, _ material: RevocationMaterial, at date: Date,
        _ objects: VerificationObjects
    ) -> VerificationObjects.Status? {
        chain.first { objects.isSigned(signer, by: $0) }.map {
            objects.status(
                of: signer, issuedBy: $0, in: material.lists + material.unusableLists,
                weakLists: material.weakLists.map(\.list), at: date)
        }
    }

    /// Adds an error for each certificate that an unusable list covers, because the list may revoke it.
    ///
    /// A list is ignored if OpenSSL consulted a newer one, or if a usable list replaces it. It is also ignored if it is
    /// not authentic, and OpenSSL consulted another list or the signature is too weak.
    mutating func addUnusableLists(
        _ input: Input, _ material: RevocationMaterial, _ objects: VerificationObjects
    ) {
        let candidates =
            material.unusableLists.map { ($0, false) } + material.weakLists.map { ($0.list, true) }
        for depth in chain.indices.dropLast() {
            let known = trustedLookups(at: depth, objects)
            var replacements: [EncodedRevocationList]?
            for (list, isWeak) in candidates where objects.covers(list, chain[depth]) {
                guard let reason = objects.defect(of: list) else { continue }
                if known.isEmpty, !isWeak {
                    addUnusableList(reason, at: depth)
                    continue
                }
                guard list.thisUpdate <= input.date, isNewer(list, than: known.map(\.list)) else { continue }
                let signers = signers(of: list, known, input, objects)
                if signers.isEmpty { continue }
                let others = replacements ?? currentLists(at: depth, known, input, material, objects)
                replacements = others
                let isReplaced = others.contains { other in
                    other.replaces(list) && signers.contains { objects.isSigned(other, by: $0) }
                }
                if !isReplaced { addUnusableList(reason, at: depth) }
            }
        }
    }

    /// The usable lists that are current, cover the certificate at a depth, and are authentic. They were issued before the
    /// certificate expired, and have no unknown critical extension.
    ///
    /// A list that was signed with a revoked key must not hide an unusable list. So no list may revoke the signer,
    /// and no unusable list may cover it.
    private func currentLists(
        at depth: Int, _ known: [Lookup], _ input: Input, _ material: RevocationMaterial,
        _ objects: VerificationObjects
    ) -> [EncodedRevocationList] {
        let lists = material.lists.filter {
            $0.isCurrent(at: input.date) && $0.thisUpdate <= chain[depth].notAfter
                && objects.covers($0, chain[depth]) && !objects.hasUnknownCriticalExtension($0)
        }
        let keys = Set(lists.map(\.issuerKey))
        let trusted = known.compactMap(\.signer) + chain[(depth + 1)...]
        let others = input.untrusted.filter { signer in
            guard keys.contains(signer.subject.matchingKey), !trusted.contains(signer),
                signer.isValid(at: input.date), isCertified(signer, objects),
                case .notRevoked? = status(ofListSigner: signer, material, at: input.date, objects)
            else { return false }
            return true
        }
        return lists.filter { list in
            (trusted + others).contains {
                $0.subject.matchingKey == list.issuerKey && objects.isSigned(list, by: $0)
            }
        }
    }

    /// The signers of an authentic list: the signer of a consulted list, and certificates that are on the path or that an
    /// authority on it issued. Empty if the list is not authentic.
    private func signers(
        of list: EncodedRevocationList, _ known: [Lookup], _ input: Input, _ objects: VerificationObjects
    ) -> [Certificate] {
        let trusted = known.compactMap(\.signer)
        return (trusted + input.path + input.untrusted).filter { signer in
            signer.subject.matchingKey == list.issuerKey
                && (trusted.contains(signer) || isCertified(signer, objects))
                && objects.isSigned(list, by: signer)
        }
    }

    /// A list that is newer than those that OpenSSL consulted.
    private struct NewerList {
        let list: EncodedRevocationList
        let signer: Certificate
        let entry: VerificationObjects.Entry
        /// Whether the list only counts if it revokes the certificate.
        let isWeak: Bool

        var revocation: CertificateRevocation? {
            if case .revoked(let revocation) = entry { revocation } else { nil }
        }

        /// Whether the list, a delta list, removes the certificate from one of these lists. It must be current, and have
        /// the scope of the complete list (RFC 5280 5.2.4).
        func canRemove(from known: [Lookup], at date: Date) -> Bool {
            guard case .removed = entry, !isWeak, list.isCurrent(at: date) else { return false }
            return known.contains {
                !$0.list.isDelta && $0.list.issuerKey == list.issuerKey && $0.list.scope == list.scope
            }
        }
    }

    /// The lookups at a depth in lists that OpenSSL should have consulted. It also consults a forged list, whose signer
    /// can have a certificate that no authority issued.
    private func trustedLookups(at depth: Int, _ objects: VerificationObjects) -> [Lookup] {
        let isTrusted = trustsLists(at: depth)
        return (consulted[depth] ?? []).filter { lookup in
            lookup.signer.map {
                (isTrusted || chain.contains($0)) && objects.isSigned(lookup.list, by: $0)
            } ?? false
        }
    }

    /// The lists for the certificate at a depth that are newer than the known ones, newest first, with its entries.
    private func newerLists(
        than known: [Lookup], at depth: Int, _ input: Input, _ material: RevocationMaterial,
        _ objects: VerificationObjects
    ) -> [NewerList] {
        let candidates = material.lists.map { ($0, false) } + material.weakLists.map { ($0.list, true) }
        let issuers = objects.distributionPoints(of: chain[depth]).flatMap(\.issuers) + [chain[depth].issuer]
        let keys = Set(known.map(\.list.issuerKey) + issuers.map(\.matchingKey))
        var searched = known.map(\.list)
        var newer: [NewerList] = []
        for (list, isWeak) in candidates.sorted(by: { $0.0.isNewer(than: $1.0) }) {
            guard keys.contains(list.issuerKey), list.thisUpdate <= input.date,
                isNewer(list, than: known.map(\.list)),
                !searched.contains(where: { objects.areEqual($0, list) })
            else { continue }
            // A delta list belongs to a complete list, so it has the same signer or that of the certificate. Anyone can
            // create a self-signed certificate with the issuer's name.
            let signers =
                list.isDelta
                ? known.filter { !$0.list.isDelta && $0.list.issuerKey == list.issuerKey }
                    .compactMap(\.signer) + [chain[depth + 1]]
                : (input.path + input.untrusted.filter { !objects.isSelfSigned($0) })
                    .filter { $0.subject.matchingKey == list.issuerKey }
            guard let found = objects.entry(of: chain[depth], in: list, signers: signers) else { continue }
            searched.append(list)
            newer.append(.init(list: list, signer: found.signer, entry: found.entry, isWeak: isWeak))
        }
        return newer
    }

    /// Whether a certificate is on the path, or was issued by an authority on it.
    private func isCertified(_ signer: Certificate, _ objects: VerificationObjects) -> Bool {
        chain.contains(signer)
            || signer.keyUsage?.contains(.cRLSign) ?? true
                && chain.dropFirst().contains {
                    $0.subject.matchingKey == signer.issuer.matchingKey && objects.isSigned(signer, by: $0)
                }
    }

    /// Whether a list is newer than the consulted ones of its issuer, or than those of its scope if there are any. A
    /// list of the same date counts as newer unless its number is lower.
    private func isNewer(_ list: EncodedRevocationList, than known: [EncodedRevocationList]) -> Bool {
        let others = known.filter { $0.issuerKey == list.issuerKey }
        let alike = others.filter { $0.scope == list.scope }
        return !(alike.isEmpty ? others : alike).contains { $0.isNewer(than: list) }
    }

    /// Looks up the certificate at a depth in a complete list; nil if the list must not be used or does not cover the
    /// certificate.
    private func lookUp(
        _ depth: Int, in item: NewerList, _ verifier: CertificateVerifier, _ input: Input,
        _ objects: VerificationObjects
    ) -> Lookup? {
        var input = input
        // The lists of other issuers are needed to validate the list's signer.
        let replaced = [item.list.issuerKey, chain[depth].issuer.matchingKey]
        input.lists = input.lists.filter { !replaced.contains($0.issuerKey) } + [item.list]
        guard let run = try? VerifierRun(verifier, input, objects) else { return nil }
        if run.trustsLists(at: depth),
            let found = run.consulted[depth]?.first(where: { $0.list === item.list })
        {
            return found
        }
        // OpenSSL takes the certificate on the path for the signer if the list has no authority key identifier. It ignores
        // the list if the identifier is that of an older certificate with the same key, and it rejects another signer
        // whose own status is unknown. It rejects a list for another distribution point, or with an unknown critical
        // extension. None of this must hide a revocation.
        let hasOtherDefects = run.problems.contains {
            $0.kind == .revocation && $0.depth == depth && !$0.isMissingList && !$0.isRevoked
                && !Self.toleratedDefects.contains(CInt(truncatingIfNeeded: $0.code))
        }
        guard item.revocation != nil, !hasOtherDefects, isCertified(item.signer, objects) else { return nil }
        return (item.list, item.signer, item.revocation)
    }

    /// The errors of lists that can nevertheless revoke a certificate.
    private static let toleratedDefects: Set<CInt> = [
        X509_V_ERR_CRL_SIGNATURE_FAILURE, X509_V_ERR_CRL_PATH_VALIDATION_ERROR,
        X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER, X509_V_ERR_CRL_HAS_EXPIRED,
        X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, X509_V_ERR_DIFFERENT_CRL_SCOPE,
    ]

    private func isRevoked(at depth: Int) -> Bool {
        problems.contains { $0.isRevoked && $0.depth == depth }
    }

    /// Whether the issuer signed the consulted lists, which may be out of date or contain only some reasons.
    private func trustsLists(at depth: Int) -> Bool {
        problems.allSatisfy {
            $0.kind != .revocation || $0.depth != depth || $0.isRevoked || $0.isMissingList
                || $0.code == Int(X509_V_ERR_CRL_HAS_EXPIRED)
        }
    }
}
