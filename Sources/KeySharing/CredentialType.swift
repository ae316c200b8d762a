/// What an identity is for, as key sharing sorts it by key usage and names.
package enum CredentialType: String, Sendable, Hashable, CaseIterable, Codable {
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
    package var filenamePrefix: String {
        self == .authentication ? "piv" : rawValue
    }

    /// Where the type stands in a list; smaller comes first.
    package var listingRank: Int {
        Self.allCases.firstIndex(of: self) ?? Self.allCases.count
    }
}

extension CredentialType: CustomStringConvertible {
    /// The name as JSON and tables show it.
    package var description: String { rawValue }
}
