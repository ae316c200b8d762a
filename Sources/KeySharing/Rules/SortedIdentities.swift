/// Identities in the order of lists: by type, the newest first within a type, then by label (docs/rules.md
/// R3.10).
///
/// ```swift
/// let sorted = SortedIdentities(identities, under: .keySharing2025)
/// let members = sorted.members(of: Selector.all.selection(.keySharing2025))
/// ```
public struct SortedIdentities: Sendable {
    /// The mechanism whose rules give the identities their types.
    public let mechanism: Mechanism
    /// The identities in the order of lists.
    public let identities: [IdentitySummary]

    /// Sorts identities that come in any order.
    public init(_ identities: some Sequence<IdentitySummary>, under mechanism: Mechanism) {
        self.mechanism = mechanism
        self.identities = identities.sorted { left, right in
            let ranks = (left.type(mechanism).listingRank, right.type(mechanism).listingRank)
            if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
            if left.notBefore != right.notBefore { return left.notBefore > right.notBefore }
            return left.label < right.label
        }
    }

    /// Decides for every identity whether it belongs to `selection` (docs/rules.md R3.5, R3.21).
    ///
    /// - Returns: a decision for each identity, in the order of lists.
    public func decide(_ selection: Selection) -> [Membership] {
        // The newest comes first within a type, so that the first identity met of a type is the most recent.
        var newest: [CredentialType: IdentitySummary] = [:]
        return identities.map { identity in
            let type = identity.type(mechanism)
            let latest = newest[type] ?? identity
            newest[type] = latest
            let outcome: Membership.Outcome =
                switch selection.extents[type] {
                case nil: .typeNotSelected
                case .everyOne: .member
                case .mostRecent:
                    identity.notBefore == latest.notBefore ? .member : .olderGeneration(newest: latest.label)
                }
            return Membership(identity: identity, outcome: outcome)
        }
    }

    /// The identities that belong to `selection`, in the order of lists.
    public func members(of selection: Selection) -> [IdentitySummary] {
        decide(selection).filter { $0.outcome == .member }.map(\.identity)
    }
}
