package import Foundation
package import KeySharing
package import OpenSSL

extension IdentitySummary {
    /// Reads the summary of an identity from its certificate.
    package init(_ certificate: Certificate) {
        self.init(
            label: certificate.label, serialNumber: certificate.serialHex, notBefore: certificate.notBefore,
            facts: CertificateFacts(certificate))
    }
}

extension IdentitySummary {
    /// The serial number and the facts in a few bytes, kept beside an identity in a keychain, so that a list
    /// of many identities needs no certificate parsed: a version octet, an octet of flags, two octets of key
    /// usage (big endian), then the serial number as text.
    package var tag: [UInt8] {
        var flags: UInt8 = 0
        if facts.keyUsage != nil { flags |= 1 }
        if facts.isEllipticCurve { flags |= 2 }
        if facts.hasRFC822Name { flags |= 4 }
        if facts.hasUTF8OtherName { flags |= 8 }
        if facts.hasOtherOtherName { flags |= 16 }
        let usage = facts.keyUsage?.rawValue ?? 0
        return [Self.tagVersion, flags, UInt8(usage >> 8), UInt8(usage & 255)] + Array(serialNumber.utf8)
    }

    /// Reads a summary from a tag; nil for a tag of another version, which needs the certificate parsed.
    package init?(label: String, notBefore: Date, tag: [UInt8]) {
        guard tag.count >= 4, tag[0] == Self.tagVersion else { return nil }
        let flags = tag[1]
        let facts = CertificateFacts(
            keyUsage: flags & 1 == 0 ? nil : KeyUsage(rawValue: UInt16(tag[2]) << 8 | UInt16(tag[3])),
            isEllipticCurve: flags & 2 != 0, hasRFC822Name: flags & 4 != 0, hasUTF8OtherName: flags & 8 != 0,
            hasOtherOtherName: flags & 16 != 0)
        self.init(
            label: label, serialNumber: String(decoding: tag[4...], as: UTF8.self), notBefore: notBefore,
            facts: facts)
    }

    private static let tagVersion: UInt8 = 1
}
