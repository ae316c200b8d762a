package import Foundation
package import KeySharing
package import OpenSSL

extension IdentitySummary {
    /// Creates the summary of the identity with this certificate.
    package init(_ certificate: Certificate) {
        self.init(
            label: certificate.label, serialNumber: certificate.serialHex, notBefore: certificate.notBefore,
            facts: CertificateFacts(withoutNameOrder: certificate), details: IdentityDetails(certificate))
    }
}

extension IdentityDetails {
    /// Creates the details of the identity with this certificate.
    ///
    /// The e-mail address is the first rfc822Name or, without one, the subject's emailAddress (PKCS #9). The EDIPI is
    /// the one in the common name or, without one, the person identifier of the FASC-N (FIPS 201-3, section 4.2.1).
    package init(_ certificate: Certificate) {
        let subject = certificate.subject
        let addresses = certificate.subjectAlternativeNames.lazy.compactMap { name -> String? in
            if case .rfc822Name(let address) = name { address } else { nil }
        }
        let numbers = certificate.subjectAlternativeNames.lazy.compactMap { name -> FASCN? in
            guard case .otherName(GeneralName.fascnType, .octetString(let octets)) = name else { return nil }
            return FASCN(octets: octets)
        }
        self.init(
            subject: "\(subject)", commonName: subject.commonName,
            email: addresses.first ?? subject.values(of: OID.emailAddress).first,
            edipi: subject.commonName.flatMap { CommonName($0).edipi } ?? numbers.first?.personIdentifier,
            notAfter: certificate.notAfter)
    }
}

extension IdentitySummary {
    /// The summary in a compact binary format, without the label and the notBefore date. A keychain stores this tag
    /// with each identity, so that identities can be listed without parsing certificates.
    ///
    /// The format is an octet for the version, an octet of flags, and two octets of key usage (big endian). In version
    /// 1, which has no details, the serial number follows as text. In version 2, the end of the validity period follows
    /// (eight octets, big endian, seconds since 1970), and then five strings, each preceded by its length in two
    /// octets: serial number, subject, common name, e-mail address and EDIPI. An absent string is empty.
    package var tag: [UInt8] {
        var flags: UInt8 = 0
        if facts.keyUsage != nil { flags |= 1 }
        if facts.isEllipticCurve { flags |= 2 }
        if facts.hasRFC822Name { flags |= 4 }
        if facts.hasUTF8OtherName { flags |= 8 }
        if facts.hasOtherOtherName { flags |= 16 }
        let usage = facts.keyUsage?.rawValue ?? 0
        let start = [flags, UInt8(usage >> 8), UInt8(usage & 255)]
        guard let details, let end = Int64(exactly: details.notAfter.timeIntervalSince1970.rounded()) else {
            return [1] + start + Array(serialNumber.utf8)
        }
        var tag = [2] + start + Self.octets(end)
        for text in [
            serialNumber, details.subject, details.commonName ?? "", details.email ?? "", details.edipi ?? "",
        ] {
            let text = Array(text.utf8)
            guard let length = UInt16(exactly: text.count), tag.count + text.count < Self.longestTag else {
                // Without details in the tag, the certificate is parsed for each list instead.
                return [1] + start + Array(serialNumber.utf8)
            }
            tag += Self.octets(length) + text
        }
        return tag
    }

    /// Creates a summary from a tag. Returns nil for a tag that is truncated or of an unknown version; the certificate
    /// must then be parsed.
    package init?(label: String, notBefore: Date, tag: [UInt8]) {
        guard tag.count >= 4, tag[0] == 1 || tag[0] == 2 else { return nil }
        let flags = tag[1]
        let facts = CertificateFacts(
            keyUsage: flags & 1 == 0 ? nil : KeyUsage(rawValue: UInt16(tag[2]) << 8 | UInt16(tag[3])),
            isEllipticCurve: flags & 2 != 0, hasRFC822Name: flags & 4 != 0, hasUTF8OtherName: flags & 8 != 0,
            hasOtherOtherName: flags & 16 != 0)
        guard tag[0] == 2 else {
            self.init(
                label: label, serialNumber: String(decoding: tag[4...], as: UTF8.self), notBefore: notBefore,
                facts: facts)
            return
        }
        var rest = tag[4...]
        guard let end = Self.integer(Int64.self, from: &rest) else { return nil }
        var texts: [String] = []
        while texts.count < 5 {
            guard let length = Self.integer(UInt16.self, from: &rest), rest.count >= length else {
                return nil
            }
            texts.append(String(decoding: rest.prefix(Int(length)), as: UTF8.self))
            rest = rest.dropFirst(Int(length))
        }
        self.init(
            label: label, serialNumber: texts[0], notBefore: notBefore, facts: facts,
            details: IdentityDetails(
                subject: texts[1], commonName: texts[2], email: texts[3], edipi: texts[4],
                notAfter: Date(timeIntervalSince1970: Double(end))))
    }

    /// The maximum length of a version 2 tag, in octets.
    private static let longestTag = 2048

    private static func octets(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func integer<Value: FixedWidthInteger>(
        _ type: Value.Type, from bytes: inout ArraySlice<UInt8>
    ) -> Value? {
        let size = Value.bitWidth / 8
        guard bytes.count >= size else { return nil }
        defer { bytes = bytes.dropFirst(size) }
        return bytes.prefix(size).reduce(0) { $0 << 8 | Value($1) }
    }
}
