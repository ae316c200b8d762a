package import KeySharing

/// A type of identity that an import must bring, and how many identities of the type.
package struct Requirement: Sendable, Hashable {
    /// The type under the rules of 2025.
    package let type: CredentialType
    /// How many different identities of the type must have arrived; 1 or more.
    package let count: Int

    /// Makes a requirement.
    package init(_ type: CredentialType, count: Int = 1) {
        self.type = type
        self.count = count
    }

    /// Reads `signature` or `encryption:4`; nil for text that names no type of the 2025 rules or no count
    /// from 1.
    package init?(_ text: String) {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let type = words.first.flatMap({ CredentialType(rawValue: String($0)) }), type != .multi,
            words.count <= 2, let count = words.count == 2 ? Int(words[1]) : 1, count > 0
        else { return nil }
        self.init(type, count: count)
    }

    /// What is missing: a requirement for each type of which fewer identities arrived than are required, with
    /// the number that is missing, in the order of lists.
    ///
    /// Of several requirements of one type the greatest counts. An identity that arrived twice counts once.
    package static func missing(_ requirements: [Requirement], in arrived: [IdentitySummary]) -> [Requirement]
    {
        CredentialType.allCases.compactMap { type in
            let required = requirements.filter { $0.type == type }.map(\.count).max() ?? 0
            let labels = Set(arrived.filter { $0.type(.keySharing2025) == type }.map(\.label))
            return required > labels.count ? Requirement(type, count: required - labels.count) : nil
        }
    }
}

extension Requirement: CustomStringConvertible {
    /// The requirement as ``init(_:)`` reads it.
    package var description: String { count == 1 ? type.rawValue : "\(type.rawValue):\(count)" }
}
