/// What an identity is for, as key sharing sorts it by key usage and names.
public enum CredentialType: String, Sendable, Hashable, CaseIterable, Codable {
    // The order is the order of every list: encryption first, what cannot be sorted last.
    case encryption
    case device
    case signature
    case authentication
    /// Signs and encrypts alike: a type of its own under the legacy rules only.
    case multi
    /// Fits no rule: published where everything is, and nowhere else.
    case unknown

    /// What a published file's name starts with, before `_<SERIAL>.p12`.
    public var filenamePrefix: String {
        self == .authentication ? "piv" : rawValue
    }

    /// Where the type stands in a list; smaller comes first.
    public var listingRank: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}

extension CredentialType: CustomStringConvertible {
    /// The name as JSON and tables show it.
    public var description: String { rawValue }
}
