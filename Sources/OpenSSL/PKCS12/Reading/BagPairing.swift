/// Matches the certificates of a file with their private keys.
struct BagPairing {
    /// The keys of the file with the attributes and the places of their bags.
    var keys: [(key: PrivateKey, attributes: BagAttributes, place: String)] = []
    /// The certificates of the file with the attributes of their bags.
    var certificates: [(certificate: Certificate, attributes: BagAttributes)] = []

    /// Pairs each certificate with the key whose public half it contains, and adds identities, unpaired keys and
    /// unpaired certificates to `contents` (docs/rules.md R7.7).
    ///
    /// Only the public key decides whether a certificate belongs to a key. Files without localKeyIDs, or with the same
    /// localKeyID on every bag, are therefore also paired correctly. The localKeyID only determines the order of
    /// several certificates of one key, and distinguishes a mismatch from a key without a certificate.
    func pair(into contents: inout PKCS12Contents) {
        let identifiers = Set(certificates.compactMap(\.attributes.localKeyID))
        contents.untiedKeyCount = keys.count { _, attributes, _ in
            attributes.localKeyID.map { !identifiers.contains($0) } ?? true
        }
        let certificates = distinctCertificates(&contents.notes)
        var isPaired = [Bool](repeating: false, count: certificates.count)
        for (key, attributes, place) in distinctKeys() {
            let identifier = attributes.localKeyID
            let dsaKey = key.type == .dsa ? key.publicKey : nil
            let matching = certificates.indices.filter {
                !isPaired[$0] && key.isCertified(by: certificates[$0].certificate, dsaKey: dsaKey)
            }
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
                            + others.others.filter { !attributes.others.contains($0) }))
            }
            guard matching.isEmpty else { continue }
            let namesakes = certificates.filter {
                identifier != nil && $0.attributes.localKeyID == identifier
            }.map(\.certificate)
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

    /// Returns the keys without duplicates. Two keys with the same public half are duplicates; the first one is kept.
    private func distinctKeys() -> [(key: PrivateKey, attributes: BagAttributes, place: String)] {
        guard keys.count > 1 else { return keys }
        var seen: Set<PublicKey> = []
        return keys.filter { seen.insert($0.key.publicKey).inserted }
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
