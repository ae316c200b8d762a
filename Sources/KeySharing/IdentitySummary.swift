package import Foundation
package import OpenSSL

/// What lists and filters know of an identity: enough to name and sort it, and no key.
package struct IdentitySummary: Sendable, Hashable {
    /// Upper-case hexadecimal SHA-256 of the certificate; names the identity in every key chain.
    package let label: String
    /// The certificate's serial number in upper-case hexadecimal, two digits an octet.
    package let serialNumber: String
    /// The start of the certificate's validity: what "most recent" compares.
    package let notBefore: Date
    /// What its certificate says about its use.
    package let facts: CertificateFacts
    private let modern: Classification
    private let legacy: Classification

    package init(label: String, serialNumber: String, notBefore: Date, facts: CertificateFacts) {
        self.label = label
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.facts = facts
        modern = Classification(facts, under: .keySharing2025)
        legacy = Classification(facts, under: .legacy)
    }

    /// The type under the rules of `mechanism`, and the rule that gave it.
    package func classification(_ mechanism: Mechanism) -> Classification {
        mechanism == .legacy ? legacy : modern
    }

    /// The type under the rules of `mechanism`.
    package func type(_ mechanism: Mechanism) -> CredentialType {
        classification(mechanism).type
    }

    /// The name of the identity's published file: `piv_048F.p12`.
    package func filename(_ mechanism: Mechanism) -> String {
        "\(type(mechanism).filenamePrefix)_\(serialNumber).p12"
    }
}

extension IdentitySummary {
    /// Serial number and facts in a few bytes, to be kept beside an identity in a key chain so that listing
    /// many needs no certificate parsed: version, flags, key usage (two octets), then the serial's octets.
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

    /// Reads a tag; nil for one of another version.
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

    /// Reads the summary off a certificate.
    package init(_ certificate: Certificate) {
        self.init(
            label: certificate.label, serialNumber: certificate.serialHex, notBefore: certificate.notBefore,
            facts: CertificateFacts(certificate))
    }

    private static let tagVersion: UInt8 = 1
}
