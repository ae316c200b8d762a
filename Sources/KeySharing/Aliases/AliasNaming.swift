/// Assigns aliases to identities, in the sample provider's naming scheme (docs/rules.md R9.14).
///
/// ```swift
/// let naming = AliasNaming(existing: ["Purebred PIV Authentication Certificate": oldLabel])
/// let assignments = naming.assignments(for: identities, includingOlder: false)
/// let replaced = assignments.compactMap(\.replacedLabel)
/// ```
public struct AliasNaming: Sendable, Hashable {
    /// An identity and the alias that it gets.
    public struct Assignment: Sendable, Hashable {
        /// The label of the identity.
        public let label: String
        /// Its alias.
        public let alias: String
        /// The label of the identity that loses the alias; nil if the alias is new. The key grants of the alias then
        /// apply to the new key.
        public let replacedLabel: String?
    }

    /// The longest alias, in bytes of its UTF-8.
    public static let longestAlias = 255

    /// The label of the identity of each entry, by alias.
    public let existing: [String: String]

    /// Creates a namer for a store with these entries.
    public init(existing: [String: String] = [:]) {
        self.existing = existing
    }

    /// Returns the aliases of the identities that are to be added, newest first within a kind.
    ///
    /// - The newest signature, authentication and device identity gets the sample's name for its kind. An older identity
    ///   with that name is replaced, as in a renewal.
    /// - Every encryption identity gets `Purebred Recovered #1`, `#2` and so on, the newest first. A number that is in
    ///   use is skipped, so encryption keys are never replaced.
    /// - With `includingOlder`, older identities get the name of their kind with ` #2`, ` #3` and so on.
    /// - An identity that already has an entry keeps its alias and gets no assignment. The exception is an identity that
    ///   loses its name to a newer one: it gets an alias like a new identity.
    ///
    /// - Parameters:
    ///   - identities: The identities, in any order.
    ///   - includingOlder: Whether signature, authentication and device identities other than the newest, and those of
    ///     unknown type, are added.
    public func assignments(
        for identities: [IdentitySummary], includingOlder: Bool = false
    ) -> [Assignment] {
        var labels = existing
        var assignments: [Assignment] = []
        for kind in Kind.allCases {
            var members = identities.filter { Kind($0) == kind }.sorted {
                $0.notBefore != $1.notBefore ? $0.notBefore > $1.notBefore : $0.label < $1.label
            }[...]
            var named = Set(labels.values)
            if kind.hasCurrentIdentity, let newest = members.popFirst(), !named.contains(newest.label) {
                let replaced = labels.updateValue(newest.label, forKey: kind.name)
                replaced.map { _ = named.remove($0) }
                assignments.append(
                    Assignment(label: newest.label, alias: kind.name, replacedLabel: replaced))
            }
            guard includingOlder || kind == .encryption else { continue }
            var number = kind.hasCurrentIdentity ? 2 : 1
            for identity in members where !named.contains(identity.label) {
                while labels["\(kind.name) #\(number)"] != nil { number += 1 }
                let alias = "\(kind.name) #\(number)"
                labels[alias] = identity.label
                assignments.append(
                    Assignment(label: identity.label, alias: alias, replacedLabel: nil))
            }
        }
        return assignments
    }

    /// Returns whether a user may choose this alias: 1 to 255 bytes of UTF-8 without control characters, line breaks
    /// and marks that change the writing direction.
    public static func isValid(_ alias: String) -> Bool {
        (1...longestAlias).contains(alias.utf8.count)
            && alias.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
    }
}

extension AliasNaming {
    /// The kinds of identities that have names of their own.
    private enum Kind: CaseIterable {
        case signature, authentication, device, encryption, unknown

        /// The kind of an identity: its type under the rules of 2025 or, if that is unknown, under the legacy rules. The
        /// alias type is not used, because the sample provider's device certificate has the type `Other`.
        init(_ identity: IdentitySummary) {
            let type = identity.type(under: .keySharing2025)
            self =
                switch type == .unknown ? identity.type(under: .legacy) : type {
                case .signature: .signature
                case .authentication: .authentication
                case .device, .multi: .device
                case .encryption: .encryption
                case .unknown: .unknown
                }
        }

        /// The name of the newest identity of the kind, without a number.
        var name: String {
            switch self {
            case .signature: "Purebred Digital Signature Certificate"
            case .authentication: "Purebred PIV Authentication Certificate"
            case .device: "Purebred Device Certificate"
            case .encryption: "Purebred Recovered"
            case .unknown: "Purebred Certificate"
            }
        }

        /// Whether the newest identity of the kind has the name without a number, and replaces its predecessor.
        var hasCurrentIdentity: Bool { self != .encryption && self != .unknown }
    }
}
