/// The purpose of an identity, derived from its key usage and names (docs/rules.md R5).
///
/// ```swift
/// let prefix = CredentialType.authentication.filenamePrefix  // "piv"
/// let usage = CredentialType.encryption.expectedKeyUsage(isEllipticCurve: true)  // .keyAgreement
/// ```
public enum CredentialType: String, Sendable, Hashable, CaseIterable, Codable {
    // The order of the cases is the order of every list (docs/rules.md R3.10).

    /// Decrypts data that was encrypted for the user.
    case encryption
    /// Identifies the device.
    case device
    /// Signs for the user.
    case signature
    /// Logs the user in.
    case authentication
    /// Signs and encrypts. Only the legacy rules assign this type.
    case multi
    /// Matches no classification rule.
    case unknown

    /// The prefix of published file names, which precedes `_<SERIAL>.p12` (docs/rules.md R3.13).
    public var filenamePrefix: String {
        self == .authentication ? "piv" : rawValue
    }

    /// The rank of the type in lists; lower ranks come first (docs/rules.md R3.10).
    public var listingRank: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}

extension CredentialType: CustomStringConvertible {
    /// The name of the type, as in JSON documents and tables.
    public var description: String { rawValue }
}

extension CredentialType {
    /// Returns the key usage that an identity of the type needs to be useful, or nil if the type needs none.
    public func expectedKeyUsage(isEllipticCurve: Bool) -> KeyUsage? {
        switch self {
        case .encryption: isEllipticCurve ? .keyAgreement : .keyEncipherment
        case .device, .signature, .authentication: .digitalSignature
        case .multi, .unknown: nil
        }
    }

    /// The extended key usages (RFC 5280, 4.2.1.12) that an identity of the type needs to be useful, as dotted object
    /// identifiers. Nil if certificates of the type may have any extended key usage or none.
    public var expectedExtendedKeyUsage: [String]? {
        switch self {
        case .signature: [ExtendedKeyUsage.emailProtection]
        case .authentication, .device: [ExtendedKeyUsage.clientAuthentication]
        case .encryption, .multi, .unknown: nil
        }
    }
}

/// The extended key usages (RFC 5280, 4.2.1.12) that key sharing expects, as dotted object identifiers.
package enum ExtendedKeyUsage {
    /// id-kp-clientAuth.
    package static let clientAuthentication = "1.3.6.1.5.5.7.3.2"
    /// id-kp-emailProtection.
    package static let emailProtection = "1.3.6.1.5.5.7.3.4"
}
