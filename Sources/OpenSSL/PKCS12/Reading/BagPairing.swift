/// Matches the certificates of a file with their private keys.
struct BagPairing {
    /// The keys of the file with the attributes and the places of their bags.
    var keys: [(key: PrivateKey, attributes: BagAttributes, place: String)] = []
    /// The certificates of the file with the attributes of their bags.
    var certificates: [(certificate: Certificate, attributes: BagAttributes)] = []

    /// Pairs each certificate with the key whose public half it contains, and adds identities, unpaired keys and
    /// unpaired certificates to `contents` (docs/rules.md R7.7).
    ///
    /// Only the public key decides whether a certificate belongs to a key. A key whose private half does not belong to
    /// its public half (``PrivateKey/isConsistent``) belongs to no certificate. Files without localKeyIDs, or with the same
    /// localKeyID on every bag, are therefore also paired correctly. The localKeyID only determines the order of
    /// several certificates of one key, and distinguishes a mismatch from a key without a certificate.
    func pair(into contents: inout PKCS12Contents) {
        let identifiers = Set(certificates.compactMap(\.attributes.localKeyID))
        contents.untiedKeyCount = keys.count { _, attributes, _ in
            attributes.localKeyID.map { !identifiers.contains($0) } ?? true
        }
        let certificates = distinctCertificates(&contents.notes)
        var isPaired = [Bool](repeating: false, count: certificates.count)
        for (key, attributes, place, isConsistent) in distinctKeys() {
            let identifier = attributes.localKeyID
            let dsaKey = key.type == .dsa ? key.publicKey : nil
            let certified = certificates.indices.filter {
                !isPaired[$0] && key.isCertified(by: certificates[$0].certificate, dsaKey: dsaKey)
            }
            let matching = isConsistent ? certified : []
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

    /// Returns the keys without duplicates, and whether each is consistent. Two keys with the same public half are
    /// duplicates; the first consistent one is kept.
    private func distinctKeys() -> [(
        key: PrivateKey, attributes: BagAttributes, place: String, isConsistent: Bool
    )] {
        let checked = keys.map { ($0.key, $0.attributes, $0.place, $0.key.isConsistent) }
        guard keys.count > 1 else { return checked }
        var kept: [PublicKey: Int] = [:]
        for (index, (key, _, _, isConsistent)) in checked.enumerated() {
            let publicKey = key.publicKey
            if let earlier = kept[publicKey], checked[earlier].3 || !isConsistent { continue }
            kept[publicKey] = index
        }
        return kept.values.sorted().map { checked[$0] }
    }
}

extension PrivateKey {
    /// Whether the certificate contains this key's public half.
    ///
    /// - Parameter dsaKey: The public half of this key if it is a DSA key; nil for other types. For DSA, only the
    ///   public number is compared: certificates may inherit the parameters from their issuer (RFC 3279, 2.3.2), and
    ///   loading each certificate's key would take a millisecond.
    fileprivate func isCertified(by certificate: Certificate, dsaKey: PublicKey?) -> Bool {
        guard let dsaKey else { return matches(certificate) }
        return certificate.publicKey.type == .dsa && dsaKey.keyOctets == certificate.publicKey.keyOctets
    }
}
