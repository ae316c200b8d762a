/// The use of an identity, as key sharing sorts identities by key usage and names (docs/rules.md R5).
///
/// ```swift
/// let prefix = CredentialType.authentication.filenamePrefix  // "piv"
/// let usage = CredentialType.encryption.expectedKeyUsage(isEllipticCurve: true)  // .keyAgreement
/// ```
public enum CredentialType: String, Sendable, Hashable, CaseIterable, Codable {
    // The order of the cases is the order of every list (docs/rules.md R3.10).

    /// Decrypts what was encrypted for the user.
    case encryption
    /// Stands for the device.
    case device
    /// Signs for the user.
    case signature
    /// Logs the user in.
    case authentication
    /// Signs and encrypts alike: a type of the legacy rules only.
    case multi
    /// Fits no rule of classification.
    case unknown

    /// The start of the name of a published file, before `_<SERIAL>.p12` (docs/rules.md R3.13).
    public var filenamePrefix: String {
        self == .authentication ? "piv" : rawValue
    }

    /// The place of the type in a list; smaller comes first (docs/rules.md R3.10).
    public var listingRank: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}

extension CredentialType: CustomStringConvertible {
    /// The name of the type, as JSON documents and tables show it.
    public var description: String { rawValue }
}

extension CredentialType {
    /// The key usage without which an identity of the type is of no use; nil for types that need none.
    public func expectedKeyUsage(isEllipticCurve: Bool) -> KeyUsage? {
        switch self {
        case .encryption: isEllipticCurve ? .keyAgreement : .keyEncipherment
        case .device, .signature, .authentication: .digitalSignature
        case .multi, .unknown: nil
        }
    }

    /// The extended key usages (RFC 5280, 4.2.1.12), as dotted object identifiers, without which an identity
    /// of the type is of no use; nil where certificates of the type come with and without any.
    public var expectedExtendedKeyUsage: [String]? {
        switch self {
        case .signature: [ExtendedKeyUsage.emailProtection]
        case .authentication, .device: [ExtendedKeyUsage.clientAuthentication]
        case .encryption, .multi, .unknown: nil
        }
    }
}

/// The purposes of RFC 5280, 4.2.1.12, that key sharing expects of certificates, as dotted object
/// identifiers.
package enum ExtendedKeyUsage {
    /// id-kp-clientAuth.
    package static let clientAuthentication = "1.3.6.1.5.5.7.3.2"
    /// id-kp-emailProtection.
    package static let emailProtection = "1.3.6.1.5.5.7.3.4"
}
