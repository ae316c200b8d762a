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
    /// The identities in the order of lists. This makes an array anew each time.
    public var identities: [IdentitySummary] { Array(ordered) }

    /// The identities in the order of lists.
    package let ordered: SegmentedArray<IdentitySummary>

    /// Where the identities of each type stand: next to each other, in the order of the types' ranks.
    private let types: [CredentialType: Range<Int>]

    /// Sorts identities that come in any order.
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
                $0.type(mechanism).listingRank > type.listingRank
            }
            types[type] = start..<end
            start = end
        }
        self.types = types
    }

    /// The order of lists (docs/rules.md R3.10).
    private static func precedes(
        _ left: IdentitySummary, _ right: IdentitySummary, _ mechanism: Mechanism
    ) -> Bool {
        let ranks = (left.type(mechanism).listingRank, right.type(mechanism).listingRank)
        if ranks.0 != ranks.1 { return ranks.0 < ranks.1 }
        if left.notBefore != right.notBefore { return left.notBefore > right.notBefore }
        return left.label < right.label
    }

    /// The first position at or behind `start` whose identity `isBehind` says to be behind the place that is looked
    /// for; all identities behind that one are, too.
    private static func firstIndex(
        in identities: SegmentedArray<IdentitySummary>, from start: Int = 0,
        _ isBehind: (IdentitySummary) -> Bool
    ) -> Int {
        (start..<identities.count).partitioningPosition { isBehind(identities[$0]) }
    }

    /// The identities together with further ones. The cost grows with their number, and hardly with the number of those
    /// that are there.
    public func adding(_ others: some Sequence<IdentitySummary>) -> SortedIdentities {
        var start = 0
        let additions = others.sorted { Self.precedes($0, $1, mechanism) }.map { other in
            start = Self.firstIndex(in: ordered, from: start) { Self.precedes(other, $0, mechanism) }
            return (element: other, position: start)
        }
        return SortedIdentities(ordered: ordered.inserting(additions), mechanism)
    }

    /// The position of an identity in ``identities``; nil where it is not among them.
    public func firstIndex(of identity: IdentitySummary) -> Int? {
        let index = Self.firstIndex(in: ordered) { !Self.precedes($0, identity, mechanism) }
        guard index < ordered.count, ordered[index].label == identity.label else { return nil }
        return index
    }

    /// The positions in ``identities`` of those that belong to `selection` (docs/rules.md R3.5, R3.21): ascending
    /// ranges that do not touch each other's identities.
    public func memberRanges(_ selection: Selection) -> [Range<Int>] {
        types.compactMap { type, range -> Range<Int>? in
            guard !range.isEmpty, let extent = selection.extents[type] else { return nil }
            switch extent {
            case .everyOne: return range
            case .mostRecent:
                // The newest comes first within a type.
                let newest = ordered[range.lowerBound].notBefore
                let end = Self.firstIndex(in: ordered, from: range.lowerBound) {
                    $0.type(mechanism) != type || $0.notBefore != newest
                }
                return range.lowerBound..<end
            }
        }
        .sorted { $0.lowerBound < $1.lowerBound }
    }

    /// Decides for every identity whether it belongs to `selection` (docs/rules.md R3.5, R3.21).
    ///
    /// - Returns: a decision for each identity, in the order of lists.
    public func decide(_ selection: Selection) -> [Membership] {
        var members = memberRanges(selection)[...]
        return ordered.enumerated().map { index, identity in
            while let first = members.first, index >= first.upperBound { members.removeFirst() }
            let type = identity.type(mechanism)
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

    /// The identities that belong to `selection`, in the order of lists.
    public func members(of selection: Selection) -> [IdentitySummary] {
        memberRanges(selection).flatMap { ordered[$0] }
    }
}
