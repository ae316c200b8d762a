/// Matches the certificates of a file with their private keys.
struct BagPairing {
    /// A key with the attributes and the place of its bag.
    typealias Key = (key: PrivateKey, attributes: BagAttributes, place: String)

    /// The keys of the file.
    var keys: [Key] = []
    /// The certificates of the file with the attributes of their bags.
    var certificates: [(certificate: Certificate, attributes: BagAttributes)] = []

    /// Pairs each certificate with the key whose public half it contains, and adds identities, unpaired keys and
    /// unpaired certificates to `contents` (docs/rules.md R7.7).
    ///
    /// Only the public key decides whether a certificate belongs to a key. A key whose private half does not belong to
    /// its public half (``PrivateKey/isConsistent``) belongs to no certificate. Files without localKeyIDs, or with the same
    /// localKeyID on every bag, are therefore also paired correctly. The localKeyID only determines the order of
    /// several certificates of one key, and distinguishes a mismatch from a key without a certificate.
    ///
    /// - Parameter budget: The budget of the file, from which the checks of the private halves are reserved.
    /// - Throws: `refused` if the checks require more work than is left.
    func pair(into contents: inout PKCS12Contents, budget: inout WorkBudget) throws(PKCS12Error) {
        let identifiers = Set(certificates.compactMap(\.attributes.localKeyID))
        contents.untiedKeyCount = keys.count { _, attributes, _ in
            attributes.localKeyID.map { !identifiers.contains($0) } ?? true
        }
        let certificates = distinctCertificates(&contents.notes)
        var isPaired = [Bool](repeating: false, count: certificates.count)
        for (publicKey, copies) in distinctKeys() {
            let certified = certificates.indices.filter {
                !isPaired[$0] && copies[0].key.isCertified(by: certificates[$0].certificate, publicKey)
            }
            // The check can be slow, so only keys with a certificate are checked.
            let consistent = certified.isEmpty ? nil : try Self.firstConsistent(copies, &budget)
            let (key, attributes, place) = consistent ?? copies[0]
            let identifier = attributes.localKeyID
            let matching = consistent == nil ? [] : certified
            let known = Set(attributes.others)
            let named = matching.filter {
                identifier != nil && certificates[$0].attributes.localKeyID == identifier
            }
            for index in named + matching.filter({ !named.contains($0) }) {
                isPaired[index] = true
                let (certificate, others) = certificates[index]
                contents.identities.append(
                    PKCS12Identity(
                        certificate: certificate, privateKey: key,
                        friendlyName: others.friendlyName ?? attributes.friendlyName,
                        localKeyID: others.localKeyID ?? identifier,
                        attributes: attributes.others
                            + others.others.filter { !known.contains($0) }))
            }
            guard matching.isEmpty else { continue }
            let namesakes = certificates.indices.filter {
                identifier != nil && certificates[$0].attributes.localKeyID == identifier
                    || certified.contains($0)
            }.map { certificates[$0].certificate }
            if !namesakes.isEmpty { contents.notes.append(.mismatchedKey(place: place)) }
            contents.keys.append(
                PKCS12Key(
                    privateKey: key, friendlyName: attributes.friendlyName, localKeyID: identifier,
                    namedCertificates: namesakes, attributes: attributes.others))
        }
        for (index, (certificate, attributes)) in certificates.enumerated() where !isPaired[index] {
            contents.certificateEntries.append(
                PKCS12CertificateEntry(
                    certificate: certificate, friendlyName: attributes.friendlyName,
                    localKeyID: attributes.localKeyID, isTrusted: attributes.isTrusted,
                    attributes: attributes.others))
        }
    }

    /// Returns the certificates without duplicates, and adds a note for each duplicate. Of equal certificates, the
    /// first one with a localKeyID is kept, or the last one if none has a localKeyID.
    private func distinctCertificates(
        _ notes: inout [PKCS12Note]
    ) -> [(certificate: Certificate, attributes: BagAttributes)] {
        var kept: [(certificate: Certificate, attributes: BagAttributes)] = []
        for entry in certificates {
            guard let index = kept.firstIndex(where: { $0.certificate == entry.certificate }) else {
                kept.append(entry)
                continue
            }
            let note = PKCS12Note.duplicateCertificate(label: entry.certificate.label)
            if !notes.contains(note) { notes.append(note) }
            if kept[index].attributes.localKeyID == nil { kept[index] = entry }
        }
        return kept
    }

    /// Returns the keys in groups with the same public half, in the order of the first key of each group. No group is
    /// empty.
    private func distinctKeys() -> [(publicKey: PublicKey, copies: [Key])] {
        var groups: [(publicKey: PublicKey, copies: [Key])] = []
        var places: [PublicKey: Int] = [:]
        for entry in keys {
            let publicKey = entry.key.publicKey
            if let place = places[publicKey] {
                groups[place].copies.append(entry)
            } else {
                places[publicKey] = groups.count
                groups.append((publicKey, [entry]))
            }
        }
        return groups
    }

    /// Returns the first key whose private half belongs to its public half; nil if there is none.
    private static func firstConsistent(_ keys: [Key], _ budget: inout WorkBudget) throws(PKCS12Error) -> Key?
    {
        for entry in keys {
            try budget.take(entry.key.consistencyWork)
            if entry.key.isConsistent { return entry }
        }
        return nil
    }
}

extension PrivateKey {
    /// Whether the certificate contains this key's public half.
    ///
    /// For DSA, the encodings must be equal, because loading each certificate's key would take a millisecond. They
    /// contain the parameters p, q and g: with another g, anyone can compute a private number for the public number of a
    /// certificate. A certificate that inherits its parameters (RFC 3279, 2.3.2) therefore belongs to no key.
    ///
    /// - Parameter publicKey: The public half of this key.
    fileprivate func isCertified(by certificate: Certificate, _ publicKey: PublicKey) -> Bool {
        type == .dsa ? publicKey == certificate.publicKey : matches(certificate)
    }
}
