/// The type that the provider of alias sharing publishes for a certificate (docs/rules.md R9.4 to R9.9).
///
/// The raw values are the strings in the column `type` of a query. They are not the types of ``CredentialType``:
/// `Identity` has no counterpart there, and `Other` corresponds to an unknown type.
///
/// ```swift
/// let type = AliasType(rawValue: "PIV Authentication")  // .pivAuthentication
/// ```
public enum AliasType: String, Sendable, Hashable, CaseIterable, Codable {
    /// The key usage permits signing and enciphering.
    case device = "Device"
    /// The key usage permits enciphering, but not signing.
    case encryption = "Encryption"
    /// The first name that matters is an e-mail address.
    case digitalSignature = "Digital Signature"
    /// The first name that matters is an otherName of more than 32 bytes.
    case pivAuthentication = "PIV Authentication"
    /// The first name that matters is an otherName of 32 bytes or fewer, such as a principal name with a 10-digit
    /// EDIPI.
    case identity = "Identity"
    /// No name of the certificate decides the type.
    case other = "Other"
}

extension AliasType: CustomStringConvertible {
    /// The text of the type, as in queries.
    public var description: String { rawValue }
}
