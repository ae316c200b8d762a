/// A set of identities: all or only the most recent identities of each selected type.
///
/// ```swift
/// var selection = IdentitySelector.signature.selection(under: .keySharing2025)
/// selection.formUnion(IdentitySelector.encryption.selection(under: .keySharing2025))
/// let extent = selection.extents[.signature]  // .mostRecent
/// ```
public struct Selection: Sendable, Hashable {
    /// How many identities of a type are selected.
    public enum Extent: Sendable, Hashable {
        /// The identities with the latest notBefore; several if they share it (docs/rules.md R3.5).
        case mostRecent
        /// Every identity of the type.
        case everyOne
    }

    /// The selected types, and how many identities of each.
    public var extents: [CredentialType: Extent]

    /// Creates a selection of these types; by default, an empty selection.
    public init(_ extents: [CredentialType: Extent] = [:]) {
        self.extents = extents
    }

    /// A selection of every identity of every type.
    public static let everything = Selection(
        Dictionary(uniqueKeysWithValues: CredentialType.allCases.map { ($0, .everyOne) }))

    /// Adds the selection `other`. "Every one" takes precedence over "most recent".
    public mutating func formUnion(_ other: Selection) {
        extents.merge(other.extents) { $0 == .everyOne ? $0 : $1 }
    }

    /// Selects every identity of the types that are already selected (docs/rules.md R4.7).
    public mutating func liftMostRecent() {
        extents = extents.mapValues { _ in .everyOne }
    }
}

extension IdentitySelector {
    /// The identities that the selector selects in `mechanism` (docs/rules.md R3.3 to R3.9, R4.2 to R4.5, R4.8).
    ///
    /// A selection that includes encryption identities includes all of them, because messages that were encrypted for
    /// a recovered key must stay readable. The legacy `no-filter` selects nothing by itself.
    public func selection(under mechanism: Mechanism) -> Selection {
        switch (self, mechanism) {
        case (.encryption, _): return Selection([.encryption: .everyOne])
        case (.signature, _): return Selection([.signature: .mostRecent])
        case (.authentication, _): return Selection([.authentication: .mostRecent])
        case (.device, _): return Selection([.device: .mostRecent])
        case (.noFilter, .keySharing2025): return .everything
        case (.noFilter, .legacy): return Selection()
        case (.allUser, _):
            var selection = Selection([
                .encryption: .everyOne, .signature: .mostRecent, .authentication: .mostRecent,
            ])
            // No identity has this type in 2025.
            if mechanism == .legacy { selection.extents[.multi] = .mostRecent }
            return selection
        case (.all, _):
            var selection = IdentitySelector.allUser.selection(under: mechanism)
            selection.extents[.device] = .mostRecent
            if mechanism == .legacy { selection.extents[.unknown] = .everyOne }
            return selection
        }
    }
}
