import Foundation

@testable import KeySharing

/// Creates identities without certificates, for tests of lists and filters.
enum TestIdentities {
    /// Returns an identity that has `type` under the rules of 2025, or for `multi` under the legacy rules.
    static func identity(_ type: CredentialType, year: Int, variant: Int = 0) -> IdentitySummary {
        let facts: CertificateFacts =
            switch type {
            case .encryption: CertificateFacts(keyUsage: .keyEncipherment)
            case .signature: CertificateFacts(keyUsage: [.digitalSignature, .nonRepudiation])
            case .authentication: CertificateFacts(keyUsage: .digitalSignature, hasUTF8OtherName: true)
            case .device: CertificateFacts(keyUsage: .digitalSignature)
            case .multi: CertificateFacts(keyUsage: [.digitalSignature, .keyEncipherment])
            case .unknown: CertificateFacts(keyUsage: .cRLSign)
            }
        return identity(facts, year: year, name: "\(type)-\(variant)")
    }

    /// Returns an identity without key usage, which the legacy rules classify as a device (docs/rules.md R5.2).
    static func legacyDevice(year: Int) -> IdentitySummary {
        identity(CertificateFacts(keyUsage: nil), year: year, name: "legacy-device")
    }

    /// Returns an identity with a label and serial number derived from `name` and `year`.
    static func identity(_ facts: CertificateFacts, year: Int, name: String) -> IdentitySummary {
        // Sixty-four hexadecimal digits, like a SHA-256: four times a 64-bit FNV-1a hash.
        let hash = "\(name)-\(year)".utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16, uppercase: true)
        let label = String(repeating: String(repeating: "0", count: 16 - digits.count) + digits, count: 4)
        return IdentitySummary(
            label: label, serialNumber: String(label.prefix(8)),
            notBefore: Date(timeIntervalSince1970: Double(year - 1970) * 31_557_600), facts: facts)
    }
}
