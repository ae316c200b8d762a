/// Which identities are wanted: of each type every one, or only the most recent.
///
/// A type that is not named is not wanted.
public struct Selection: Sendable, Hashable {
    /// How much of a type is wanted.
    public enum Extent: Sendable, Hashable {
        /// Those with the greatest notBefore; several where they share it.
        case mostRecent
        case everyOne
    }

    public var extents: [CredentialType: Extent]

    public init(_ extents: [CredentialType: Extent] = [:]) {
        self.extents = extents
    }

    /// Everything the keychain holds.
    public static let everything = Selection(
        Dictionary(uniqueKeysWithValues: CredentialType.allCases.map { ($0, .everyOne) }))

    /// Adds what `other` wants; "every one" wins over "most recent".
    public mutating func formUnion(_ other: Selection) {
        extents.merge(other.extents) { $0 == .everyOne ? $0 : $1 }
    }

    /// Wants every identity of the types that are named already.
    public mutating func liftMostRecent() {
        extents = extents.mapValues { _ in .everyOne }
    }
}

extension Selector {
    /// What the selector holds in `mechanism`.
    ///
    /// Every encryption identity belongs wherever one does, because what was encrypted for a recovered key must
    /// stay readable. The legacy `no-filter` holds nothing by itself: it lifts "most recent" from what stands
    /// beside it.
    public func selection(_ mechanism: Mechanism) -> Selection {
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
            var selection = Selector.allUser.selection(mechanism)
            selection.extents[.device] = .mostRecent
            if mechanism == .legacy { selection.extents[.unknown] = .everyOne }
            return selection
        }
    }
}
