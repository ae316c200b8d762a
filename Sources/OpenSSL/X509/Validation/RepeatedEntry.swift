internal import COpenSSL

/// An entry whose serial number occurs more than once in its list.
struct RepeatedEntry {
    /// The names of the issuer of the revoked certificate (RFC 5280 5.3.3).
    let issuers: Set<NameMatchingKey>
    let revocation: CertificateRevocation
}

extension RevocationListParts {
    /// The entries whose serial numbers occur more than once, keyed by the number in the form of ``Certificate/serialHex``.
    /// OpenSSL finds only the first entry of a certificate, and does not reveal the issuer of an entry.
    ///
    /// - Throws: `malformed` if an entry cannot be decoded.
    func repeatedEntries(in der: [UInt8]) throws(CertificateError) -> [String: [RepeatedEntry]] {
        guard let entries else { return [:] }
        var counts: [ArraySlice<UInt8>: Int] = [:]
        var walk = DERWalk(der, in: entries)
        while let entry = walk.skip(V_ASN1_SEQUENCE) {
            counts[Self.serialNumber(der, entry), default: 0] += 1
        }
        guard counts.contains(where: { $0.value > 1 }) else { return [:] }

        var found: [String: [RepeatedEntry]] = [:]
        // An entry without issuer has that of the previous entry, and the first entry that of the list.
        var issuers: Set = [issuer.matchingKey]
        walk = DERWalk(der, in: entries)
        while let entry = walk.skip(V_ASN1_SEQUENCE) {
            let decoded = unsafe try OpenSSLASN1.decode(Array(der[entry.whole]), as: "an entry") {
                unsafe d2i_X509_REVOKED(nil, $0, $1)
            } free: {
                unsafe X509_REVOKED_free($0)
            }
            defer { unsafe X509_REVOKED_free(decoded) }
            if let names = unsafe Self.issuers(of: decoded) { issuers = names }
            guard counts[Self.serialNumber(der, entry), default: 0] > 1,
                let number = unsafe X509_REVOKED_get0_serialNumber(decoded)
            else { continue }
            found[unsafe OpenSSLASN1.serialHex(number), default: []].append(
                unsafe RepeatedEntry(issuers: issuers, revocation: CertificateRevocation(reading: decoded)))
        }
        return found
    }

    /// The contents of an entry's serial number.
    private static func serialNumber(_ der: [UInt8], _ entry: DERWalk.Element) -> ArraySlice<UInt8> {
        var fields = DERWalk(der, in: entry.contents)
        return fields.skip(V_ASN1_INTEGER).map { der[$0.contents] } ?? []
    }

    /// The directory names in the certificateIssuer of an entry (`X509_REVOKED`); nil if it has none.
    private static func issuers(of entry: OpaquePointer) -> Set<NameMatchingKey>? {
        guard
            let decoded = unsafe X509_REVOKED_get_ext_d2i(entry, NID_certificate_issuer, nil, nil)
        else { return nil }
        let names = OpaquePointer(decoded)
        defer { unsafe GENERAL_NAMES_free(names) }
        return unsafe Set(DistributionPoint.directoryNames(names).map(\.matchingKey))
    }
}
