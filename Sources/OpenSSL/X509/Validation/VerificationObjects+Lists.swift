internal import COpenSSL
internal import Foundation

extension VerificationObjects {
    /// The entry of a certificate in a list.
    enum Entry {
        case absent
        /// The entry of a delta list removes the certificate from an earlier list (removeFromCRL).
        case removed
        case revoked(CertificateRevocation)

        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    /// Returns the entry of a certificate in `list`; nil if the list is unusable. The list's signature and scope are not
    /// checked.
    func entry(of certificate: Certificate, in list: EncodedRevocationList) -> Entry? {
        defer { OpenSSLError.discardQueue() }
        let lookup = Lookup(list: ObjectIdentifier(list), certificate: certificate)
        if let known = entries[lookup] { return known.entry }
        guard let encoded = unsafe try? pointer(list), let subject = unsafe try? pointer(certificate) else {
            return nil
        }
        let entry = unsafe entry(of: certificate, subject, in: encoded, list)
        // OpenSSL finds out quickly that there is no entry. A list can have thousands of entries of one certificate.
        if !entry.isAbsent { entries[lookup] = (list, entry) }
        return entry
    }

    /// Returns the entry of a certificate (`subject` in C) in a list (`encoded` in C). If there are several entries, a
    /// revocation that cannot be lifted takes precedence over a hold, and a hold over removeFromCRL.
    private func entry(
        of certificate: Certificate, _ subject: OpaquePointer, in encoded: OpaquePointer,
        _ list: EncodedRevocationList
    ) -> Entry {
        var entry: OpaquePointer?
        let verdict = unsafe X509_CRL_get0_by_cert(encoded, &entry, subject)
        guard verdict > 0, let entry = unsafe entry else { return .absent }
        var found = unsafe [CertificateRevocation(reading: entry)]
        if found[0].isHold || found[0].isRemoval {
            found += repeatedEntries(of: certificate, in: list)
        }
        // Only a delta list can remove a certificate (RFC 5280 5.3.1).
        let revocation =
            found.first { !$0.isHold && !$0.isRemoval } ?? found.first { !list.isDelta || !$0.isRemoval }
        return revocation.map(Entry.revoked) ?? .removed
    }

    /// The entries of a certificate in a list if several entries have its serial number; otherwise empty.
    private func repeatedEntries(
        of certificate: Certificate, in list: EncodedRevocationList
    ) -> [CertificateRevocation] {
        let known = repeatedEntries[ObjectIdentifier(list)]?.entries
        let entries = known ?? (try? list.repeatedEntries()) ?? [:]
        if known == nil { repeatedEntries[ObjectIdentifier(list)] = (list, entries) }
        let issuer = certificate.issuer.matchingKey
        return entries[certificate.serialHex, default: []].filter { $0.issuers.contains(issuer) }
            .map(\.revocation)
    }

    /// The lists of `input` without those that OpenSSL could consult only by mistake. It selects a list before it
    /// verifies the signature, and would not try another one afterwards.
    ///
    /// A list is removed if no known certificate of its issuer signed it; if only a certificate outside the path signed
    /// it, but one on the path signed a current list with the same scope; and if it belongs to another distribution point
    /// than those of each certificate of its issuer. Revocations in removed lists that are authentic can be found
    /// afterwards.
    func withoutForgeries(_ input: VerifierRun.Input) -> [EncodedRevocationList] {
        let path = Dictionary(grouping: input.path, by: \.subject.matchingKey)
        let untrusted = Dictionary(grouping: input.untrusted, by: \.subject.matchingKey)
        var removed: Set<ObjectIdentifier> = []
        for (key, group) in Dictionary(grouping: input.lists, by: \.issuerKey) {
            let onPath = path[key] ?? []
            let others = (untrusted[key] ?? []).filter { !onPath.contains($0) }
            let own = group.filter { list in onPath.contains { isSigned(list, by: $0) } }
            let rest = group.filter { list in !own.contains { $0 === list } }
            let foreign = rest.filter { list in others.contains { isSigned(list, by: $0) } }
            let current = own.filter { $0.isCurrent(at: input.date) }
            for list in rest {
                let isForeign = foreign.contains { $0 === list }
                if !isForeign
                    || current.contains(where: { $0.scope == list.scope && $0.isDelta == list.isDelta })
                {
                    removed.insert(ObjectIdentifier(list))
                }
            }
        }
        // Of several delta lists, OpenSSL consults the first one, whatever its date.
        return input.lists.filter { list in
            !removed.contains(ObjectIdentifier(list)) && !(list.isDelta && list.thisUpdate > input.date)
                && !isOfOtherPoints(list, than: input.path)
        }.sorted { $0.isNewer(than: $1) }
    }
}

extension EncodedRevocationList {
    /// Whether the list would contain the certificate if it were revoked: it was issued before the certificate expired, or
    /// keeps expired certificates (expiredCertsOnCRL, X.509).
    func keeps(_ certificate: Certificate) -> Bool {
        thisUpdate <= certificate.notAfter || keepsExpiredSince.map { $0 <= certificate.notAfter } ?? false
    }

    /// Whether the list was issued after another one: by the date, and for equal dates by the number (RFC 5280 5.2.3).
    /// A delta list can have the date and the number of its complete list, and is the newer one.
    func isNewer(than other: EncodedRevocationList) -> Bool {
        guard thisUpdate == other.thisUpdate else { return thisUpdate > other.thisUpdate }
        if let own = number, let others = other.number, own != others { return Self.isLower(others, own) }
        return isDelta && !other.isDelta
    }

    /// Whether the list is newer than another list of its issuer and contains everything that is still valid in it.
    ///
    /// Both must have the same scope, or this list must be unrestricted and complete. If it is a delta list, so must be the
    /// other one, and this one must contain the changes since the same or an earlier list.
    func replaces(_ other: EncodedRevocationList) -> Bool {
        guard issuerKey == other.issuerKey, isNewer(than: other),
            scope == other.scope || scope == nil && !isDelta && other.scope?.isIndirect != true
        else { return false }
        guard let own = deltaBase else { return true }
        guard let others = other.deltaBase else { return false }
        return !Self.isLower(others, own)
    }

    /// Compares two numbers, big-endian without leading zeros.
    private static func isLower(_ number: [UInt8], _ other: [UInt8]) -> Bool {
        number.count == other.count
            ? number.lexicographicallyPrecedes(other) : number.count < other.count
    }
}

extension VerificationObjects {
    /// The names of all issuers whose lists may contain a certificate: its issuer, and the signers in its distribution
    /// points. The result is cached.
    package func listSignerKeys(of certificate: Certificate) -> [NameMatchingKey] {
        if let known = signerKeys[certificate] { return known }
        let names = [certificate.issuer] + distributionPoints(of: certificate).flatMap(\.issuers)
        let keys = names.map(\.matchingKey)
        signerKeys[certificate] = keys
        return keys
    }

    /// Whether a certificate is self-issued, and only lists with its own name show whether it is revoked.
    func hasStatusOnlyInOwnLists(_ certificate: Certificate) -> Bool {
        let name = certificate.subject.matchingKey
        return certificate.responderURLs.isEmpty
            && listSignerKeys(of: certificate).allSatisfy { $0 == name }
    }

    /// Whether a list belongs to other distribution points than those of each certificate in `path` whose revocations its
    /// issuer signs.
    private func isOfOtherPoints(_ list: EncodedRevocationList, than path: [Certificate]) -> Bool {
        let covered = path.filter { listSignerKeys(of: $0).contains(list.issuerKey) }
        return !covered.isEmpty && covered.allSatisfy { isOfOtherPoint(list, than: $0) }
    }

    /// Whether a list belongs to another distribution point than those of a certificate.
    ///
    /// If a point has no name, a name of the list must be that of a signer in the point (RFC 5280 6.3.3 (b)(2)(i)), but
    /// OpenSSL accepts every list for such a point. If all points have names, OpenSSL compares them correctly.
    func isOfOtherPoint(_ list: EncodedRevocationList, than certificate: Certificate) -> Bool {
        guard let scope = list.scope, !scope.name.isEmpty else { return false }
        let points = distributionPoints(of: certificate)
        let names = Set(scope.directoryNames.map(\.matchingKey))
        return points.contains(where: \.name.isEmpty)
            && !points.contains { point in
                let own = point.name.isEmpty ? point.issuers : point.directoryNames
                return !names.isDisjoint(with: own.map(\.matchingKey))
                    || !Set(point.urls).isDisjoint(with: scope.urls) || point.name == scope.name
            }
    }

    /// Whether a list of an issuer of the certificate's revocations may contain the certificate. A list with a scope that
    /// does not include it can, by the issuer's mistake.
    func mayContain(_ list: EncodedRevocationList, _ certificate: Certificate) -> Bool {
        listSignerKeys(of: certificate).contains(list.issuerKey) && list.scope?.isForAttributesOnly != true
    }

    /// Whether a list is of an issuer of the certificate's revocations and has a scope that includes the certificate.
    func covers(_ list: EncodedRevocationList, _ certificate: Certificate) -> Bool {
        listSignerKeys(of: certificate).contains(list.issuerKey) && list.scope?.includes(certificate) ?? true
    }
}

extension EncodedRevocationList.Scope {
    /// Whether a list of this scope can contain a certificate. The names of distribution points are not compared,
    /// because a serial number is unique among all certificates of an issuer.
    fileprivate func includes(_ certificate: Certificate) -> Bool {
        if isForAttributesOnly { return false }
        return certificate.isCertificateAuthority ? !isForUsersOnly : !isForAuthoritiesOnly
    }
}

extension CertificateRevocation {
    /// Whether the revocation can be lifted again (certificateHold, RFC 5280 5.3.1).
    var isHold: Bool { reason == Int(CRL_REASON_CERTIFICATE_HOLD) }

    /// Whether the reason is removeFromCRL (RFC 5280 5.3.1).
    fileprivate var isRemoval: Bool { reason == Int(CRL_REASON_REMOVE_FROM_CRL) }
}
