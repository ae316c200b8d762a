import CertificateReading
import Foundation
import OpenSSL

@testable import KeySharing

/// Identities made of facts alone, for tests of lists and filters.
enum TestIdentities {
    static func identity(_ type: CredentialType, year: Int, variant: Int = 0) -> IdentitySummary {
        let facts: CertificateFacts =
            switch type {
            case .encryption: CertificateFacts(keyUsage: .keyEncipherment)
            case .signature: CertificateFacts(keyUsage: [.digitalSignature, .nonRepudiation])
            case .authentication: CertificateFacts(keyUsage: .digitalSignature, hasUTF8OtherName: true)
            // Device under both mechanisms' rules only where there is no key usage … which 2025 does not know.
            case .device: CertificateFacts(keyUsage: .digitalSignature)
            case .multi: CertificateFacts(keyUsage: [.digitalSignature, .keyEncipherment])
            case .unknown: CertificateFacts(keyUsage: .cRLSign)
            }
        return identity(facts, year: year, name: "\(type)-\(variant)")
    }

    /// An identity that the legacy rules take for a device: no key usage at all.
    static func legacyDevice(year: Int) -> IdentitySummary {
        identity(CertificateFacts(keyUsage: nil), year: year, name: "legacy-device")
    }

    static func identity(_ facts: CertificateFacts, year: Int, name: String) -> IdentitySummary {
        let label = Digest.sha256(Array("\(name)-\(year)".utf8)).upperHex
        return IdentitySummary(
            label: label, serialNumber: String(label.prefix(8)),
            notBefore: Date(timeIntervalSince1970: Double(year - 1970) * 31_557_600), facts: facts)
    }
}
