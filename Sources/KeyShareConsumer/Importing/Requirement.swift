package import KeySharing

/// A type of identity that an import must contain, with the required number of identities.
package struct Requirement: Sendable, Hashable {
    /// The credential type under the rules of 2025.
    package let type: CredentialType
    /// The required number of different identities of the type; 1 or more.
    package let count: Int

    /// Creates a requirement.
    package init(_ type: CredentialType, count: Int = 1) {
        self.type = type
        self.count = count
    }

    /// Parses text such as `signature` or `encryption:4`. Returns nil if the text contains no type of the 2025 rules,
    /// or a count below 1.
    package init?(_ text: String) {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let type = words.first.flatMap({ CredentialType(rawValue: String($0)) }), type != .multi,
            words.count <= 2, let count = words.count == 2 ? Int(words[1]) : 1, count > 0
        else { return nil }
        self.init(type, count: count)
    }

    /// Returns the unmet requirements, each with the number of identities that are missing, in list order.
    ///
    /// If several requirements have the same type, the largest applies. An identity that arrived twice counts once.
    package static func missing(_ requirements: [Requirement], in arrived: [IdentitySummary]) -> [Requirement]
    {
        CredentialType.allCases.compactMap { type in
            let required = requirements.filter { $0.type == type }.map(\.count).max() ?? 0
            let labels = Set(arrived.filter { $0.type(under: .keySharing2025) == type }.map(\.label))
            return required > labels.count ? Requirement(type, count: required - labels.count) : nil
        }
    }
}

extension Requirement: CustomStringConvertible {
    /// The text that ``init(_:)`` parses.
    package var description: String { count == 1 ? type.rawValue : "\(type.rawValue):\(count)" }
}
