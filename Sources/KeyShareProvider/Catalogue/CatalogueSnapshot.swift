package import KeySharing

/// The single files that the root of the 2025 listing shows (docs/rules.md R3.2).
package enum RootContents: String, Sendable, CaseIterable, Codable {
    /// All identities of the provider.
    case all
    /// The contents of the folder `All`: the most recent identities of each type and all encryption identities, as in
    /// the sample app.
    case recent
}

/// The identities of a provider at one moment, assigned to the root and to each selector.
package struct CatalogueSnapshot: Sendable {
    /// The keychain's change count at the time of reading.
    package let generation: Int64

    private let sorted: SortedIdentities
    private let labels: LabelIndex
    private let rootContents: RootContents
    /// The positions of each selector's members in `identities`, as ascending ranges.
    private let members: [IdentitySelector: [Range<Int>]]

    /// All identities, in the order of docs/rules.md R3.10.
    package var identities: SegmentedArray<IdentitySummary> { sorted.ordered }

    /// Sorts identities, and determines the members of each selector.
    ///
    /// - Parameters:
    ///   - generation: The keychain's change count, read before the identities.
    ///   - identities: All identities of the provider.
    ///   - rootContents: The single files that the root shows.
    package init(
        generation: Int64, identities: some Sequence<IdentitySummary>, root rootContents: RootContents = .all
    ) {
        let sorted = SortedIdentities(identities, under: .keySharing2025)
        self.init(generation, sorted, LabelIndex(sorted.ordered), rootContents, Self.members(of: sorted))
    }

    private init(
        _ generation: Int64, _ sorted: SortedIdentities, _ labels: LabelIndex, _ rootContents: RootContents,
        _ members: [IdentitySelector: [Range<Int>]]
    ) {
        self.generation = generation
        self.sorted = sorted
        self.labels = labels
        self.rootContents = rootContents
        self.members = members
    }

    private static func members(of sorted: SortedIdentities) -> [IdentitySelector: [Range<Int>]] {
        Dictionary(
            uniqueKeysWithValues: IdentitySelector.allCases.map {
                ($0, sorted.memberRanges($0.selection(under: .keySharing2025)))
            })
    }

    /// Returns a snapshot of `generation` with `others` in addition to the current identities. Call this only if no
    /// identity was removed or changed since this snapshot.
    package func adding(_ others: [IdentitySummary], generation: Int64) -> CatalogueSnapshot {
        let sorted = sorted.adding(others)
        return CatalogueSnapshot(
            generation, sorted, labels.adding(others), rootContents, Self.members(of: sorted))
    }

    /// Returns a snapshot with only the identities for which `isIncluded` returns true. They remain in the containers
    /// that list them now, because the most recent identities were chosen from all identities (docs/rules.md R7.22).
    package func limited(to isIncluded: (IdentitySummary) -> Bool) -> CatalogueSnapshot {
        var kept: [IdentitySummary] = []
        /// The number of kept identities before each position.
        var counts = [0]
        for identity in identities {
            if isIncluded(identity) { kept.append(identity) }
            counts.append(kept.count)
        }
        let moved = members.mapValues { ranges in
            ranges.map { counts[$0.lowerBound]..<counts[$0.upperBound] }.filter { !$0.isEmpty }
        }
        return CatalogueSnapshot(
            generation, SortedIdentities(kept, under: .keySharing2025), LabelIndex(kept), rootContents, moved)
    }

    /// The number of files in the folder of `selector`, or at the root if `selector` is nil.
    package func count(in selector: IdentitySelector?) -> Int {
        ranges(selector).reduce(0) { $0 + $1.count }
    }

    /// Returns the identity at a position in the folder of `selector`, or at the root if `selector` is nil.
    ///
    /// - Precondition: `index` is below `count(in:)`.
    package func identity(at index: Int, in selector: IdentitySelector?) -> IdentitySummary {
        var rest = index
        for range in ranges(selector) {
            if rest < range.count { return identities[range.lowerBound + rest] }
            rest -= range.count
        }
        preconditionFailure("the catalogue has no file \(index)")
    }

    /// The identities of `selector`: the contents of its folder and of its zip.
    package func members(of selector: IdentitySelector) -> [IdentitySummary] {
        (members[selector] ?? []).flatMap { identities[$0] }
    }

    /// The newest identity in the folder of `selector`; nil if the folder is empty.
    package func newest(of selector: IdentitySelector) -> IdentitySummary? {
        // All identities in a range have the same type, and the newest comes first.
        (members[selector] ?? []).map { identities[$0.lowerBound] }.max { $0.notBefore < $1.notBefore }
    }

    /// Returns the identity with `label` in the folder of `selector`, or at the root if `selector` is nil. Returns nil
    /// if the container does not list the identity. Listings and lookups share this decision (docs/rules.md R3.21).
    package func identity(_ label: String, in selector: IdentitySelector?) -> IdentitySummary? {
        guard let identity = labels[label], let position = sorted.firstIndex(of: identity),
            ranges(selector).contains(where: { $0.contains(position) })
        else { return nil }
        return identity
    }

    /// The positions of a container's files in `identities`.
    private func ranges(_ selector: IdentitySelector?) -> [Range<Int>] {
        switch (selector, rootContents) {
        case (let selector?, _): members[selector] ?? []
        case (nil, .recent): members[.all] ?? []
        case (nil, .all): [identities.indices]
        }
    }
}

/// Identities, keyed by label. An index with additions shares the dictionary of the original index.
private struct LabelIndex: Sendable {
    private let base: [String: IdentitySummary]
    private var added: [String: IdentitySummary] = [:]

    /// The maximum number of added identities. The next addition merges all of them into one dictionary.
    private static let mostAdded = 4_096

    init(_ identities: some Sequence<IdentitySummary>) {
        base = Self.dictionary(identities)
    }

    private init(base: [String: IdentitySummary], added: [String: IdentitySummary]) {
        self.base = base
        self.added = added
    }

    func adding(_ identities: [IdentitySummary]) -> LabelIndex {
        let all = added.merging(Self.dictionary(identities)) { first, _ in first }
        guard all.count > Self.mostAdded else { return LabelIndex(base: base, added: all) }
        return LabelIndex(base: base.merging(all) { first, _ in first }, added: [:])
    }

    subscript(label: String) -> IdentitySummary? { base[label] ?? added[label] }

    private static func dictionary(_ identities: some Sequence<IdentitySummary>) -> [String: IdentitySummary]
    {
        Dictionary(identities.map { ($0.label, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
