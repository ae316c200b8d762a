/// Identities in list order: by type, then newest first, then by label (docs/rules.md R3.10).
///
/// ```swift
/// let sorted = SortedIdentities(identities, under: .keySharing2025)
/// let members = sorted.members(of: IdentitySelector.all.selection(under: .keySharing2025))
/// ```
public struct SortedIdentities: Sendable {
    /// The mechanism whose rules determine the identities' types.
    public let mechanism: Mechanism
    /// The identities in list order. Each access creates a new array.
    public var identities: [IdentitySummary] { Array(ordered) }

    /// The identities in list order, without copying them.
    package let ordered: SegmentedArray<IdentitySummary>

    /// The range of positions of each type's identities. The ranges are adjacent, in the order of the types' ranks.
    private let types: [CredentialType: Range<Int>]

    /// Sorts `identities`, which may be in any order.
    public init(_ identities: some Sequence<IdentitySummary>, under mechanism: Mechanism) {
        self.init(ordered: SegmentedArray(identities.sorted { Self.precedes($0, $1, mechanism) }), mechanism)
    }

    private init(ordered: SegmentedArray<IdentitySummary>, _ mechanism: Mechanism) {
        self.mechanism = mechanism
        self.ordered = ordered
        var types: [CredentialType: Range<Int>] = [:]
        var start = 0
        for type in CredentialType.allCases.sorted(by: { $0.listingRank < $1.listingRank }) {
            let end = Self.firstIndex(in: ordered, from: start) {
                $0.type(under: mechanism).listingRank > type.listingRank
            }
            types[type] = start..<end
            start = end
        }
        self.types = types
    }

    /// Returns whether `left` comes before `right` in lists (docs/rules.md R3.10).
    private static func precedes(
        _ left: IdentitySummary, _ right: IdentitySummary, _ mechanism: Mechanism
    ) -> Bool {
        let ranks = (left.type(under: mechanism).listingRank, right.type(under: mechanism).listingRank)
        if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
        if left.notBefore != right.notBefore { return left.notBefore > right.notBefore }
        return left.label < right.label
    }

    /// Returns the first position at or after `start` whose identity satisfies `belongsAfter`, or the number of
    /// identities if there is none. If an identity satisfies `belongsAfter`, all later ones must also satisfy it. Uses
    /// binary search.
    private static func firstIndex(
        in identities: SegmentedArray<IdentitySummary>, from start: Int = 0,
        _ belongsAfter: (IdentitySummary) -> Bool
    ) -> Int {
        (start..<identities.count).partitioningPosition { belongsAfter(identities[$0]) }
    }

    /// Returns these identities together with additional ones. The cost depends mainly on the number of additional
    /// identities.
    public func adding(_ others: some Sequence<IdentitySummary>) -> SortedIdentities {
        var start = 0
        let additions = others.sorted { Self.precedes($0, $1, mechanism) }.map { other in
            start = Self.firstIndex(in: ordered, from: start) { Self.precedes(other, $0, mechanism) }
            return (element: other, position: start)
        }
        return SortedIdentities(ordered: ordered.inserting(additions), mechanism)
    }

    /// Returns the position of an identity in ``identities``, or nil if it is not among them.
    public func firstIndex(of identity: IdentitySummary) -> Int? {
        let index = Self.firstIndex(in: ordered) { !Self.precedes($0, identity, mechanism) }
        guard index < ordered.count, ordered[index].label == identity.label else { return nil }
        return index
    }

    /// Returns the positions in ``identities`` that belong to `selection`, as ascending ranges that do not overlap
    /// (docs/rules.md R3.5, R3.21).
    public func memberRanges(_ selection: Selection) -> [Range<Int>] {
        types.compactMap { type, range -> Range<Int>? in
            guard !range.isEmpty, let extent = selection.extents[type] else { return nil }
            switch extent {
            case .everyOne: return range
            case .mostRecent:
                // Within a type, the newest identity comes first.
                let newest = ordered[range.lowerBound].notBefore
                let end = Self.firstIndex(in: ordered, from: range.lowerBound) {
                    $0.type(under: mechanism) != type || $0.notBefore != newest
                }
                return range.lowerBound..<end
            }
        }
        .sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Decides for each identity whether it belongs to `selection` (docs/rules.md R3.5, R3.21).
    ///
    /// - Returns: One decision for each identity, in list order.
    public func decide(_ selection: Selection) -> [Membership] {
        var members = memberRanges(selection)[...]
        return ordered.enumerated().map { index, identity in
            while let first = members.first, index >= first.upperBound { members.removeFirst() }
            let type = identity.type(under: mechanism)
            let outcome: Membership.Outcome
            if members.first?.contains(index) == true {
                outcome = .member
            } else if selection.extents[type] == .mostRecent, let newest = types[type]?.lowerBound {
                outcome = .olderGeneration(newest: ordered[newest].label)
            } else {
                outcome = .typeNotSelected
            }
            return Membership(identity: identity, outcome: outcome)
        }
    }

    /// Returns the identities that belong to `selection`, in list order.
    public func members(of selection: Selection) -> [IdentitySummary] {
        memberRanges(selection).flatMap { ordered[$0] }
    }
}
