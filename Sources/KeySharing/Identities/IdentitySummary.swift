#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A summary of an identity that is sufficient to name, sort and filter it. It contains no private key.
///
/// ```swift
/// let identity = IdentitySummary(
///     label: String(repeating: "0A", count: 32), serialNumber: "048F",
///     notBefore: Date(timeIntervalSince1970: 1_700_000_000),
///     facts: CertificateFacts(keyUsage: .digitalSignature, hasUTF8OtherName: true))
/// let filename = identity.filename(under: .keySharing2025)  // "piv_048F.p12"
/// ```
public struct IdentitySummary: Sendable, Hashable {
    /// The SHA-256 of the certificate's DER in upper-case hexadecimal. It identifies the certificate in every keychain
    /// (docs/rules.md R3.11).
    public let label: String
    /// The certificate's serial number in upper-case hexadecimal, two digits for each octet.
    public let serialNumber: String
    /// The start of the certificate's validity period. Of several identities, the one with the latest start is the most
    /// recent (docs/rules.md R3.5).
    public let notBefore: Date
    /// The facts about the certificate that determine the identity's type.
    public let facts: CertificateFacts
    /// The certificate's owner and expiry date; nil if they are not known.
    public let details: IdentityDetails?
    private let modern: Classification
    private let legacy: Classification

    /// Creates a summary and classifies the identity under the rules of both mechanisms.
    public init(
        label: String, serialNumber: String, notBefore: Date, facts: CertificateFacts,
        details: IdentityDetails? = nil
    ) {
        self.label = label
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.facts = facts
        self.details = details
        modern = Classification(facts, under: .keySharing2025)
        legacy = Classification(facts, under: .legacy)
    }

    /// Returns the type under the rules of `mechanism`, with the rule that determined it.
    public func classification(under mechanism: Mechanism) -> Classification {
        mechanism == .legacy ? legacy : modern
    }

    /// Returns the type under the rules of `mechanism` (docs/rules.md R5.12).
    public func type(under mechanism: Mechanism) -> CredentialType {
        classification(under: mechanism).type
    }

    /// Returns the name of the published file, such as `piv_048F.p12` (docs/rules.md R3.13).
    public func filename(under mechanism: Mechanism) -> String {
        "\(type(under: mechanism).filenamePrefix)_\(serialNumber).p12"
    }
}
