public import Foundation

/// What lists and filters know of an identity: enough to name and sort it, and no key.
public struct IdentitySummary: Sendable, Hashable {
    /// Upper-case hexadecimal SHA-256 of the certificate; names the identity in every keychain.
    public let label: String
    /// The certificate's serial number in upper-case hexadecimal, two digits an octet.
    public let serialNumber: String
    /// The start of the certificate's validity: what "most recent" compares.
    public let notBefore: Date
    /// What its certificate says about its use.
    public let facts: CertificateFacts
    private let modern: Classification
    private let legacy: Classification

    public init(label: String, serialNumber: String, notBefore: Date, facts: CertificateFacts) {
        self.label = label
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.facts = facts
        modern = Classification(facts, under: .keySharing2025)
        legacy = Classification(facts, under: .legacy)
    }

    /// The type under the rules of `mechanism`, and the rule that gave it.
    public func classification(_ mechanism: Mechanism) -> Classification {
        mechanism == .legacy ? legacy : modern
    }

    /// The type under the rules of `mechanism`.
    public func type(_ mechanism: Mechanism) -> CredentialType {
        classification(mechanism).type
    }

    /// The name of the identity's published file: `piv_048F.p12`.
    public func filename(_ mechanism: Mechanism) -> String {
        "\(type(mechanism).filenamePrefix)_\(serialNumber).p12"
    }
}
