/// The identities of a provider in the order of lists: by type, the newest first within one, then by label.
public struct SortedIdentities: Sendable {
    /// Whose rules sort the identities into types.
    public let mechanism: Mechanism
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

    /// Decides for every identity whether it belongs to `selection`.
    public func decide(_ selection: Selection) -> [Membership] {
        // Newest first within a type, so the first one met of a type is its most recent.
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

    /// The identities that belong to `selection`.
    public func members(of selection: Selection) -> [IdentitySummary] {
        decide(selection).filter { $0.outcome == .member }.map(\.identity)
    }
}
