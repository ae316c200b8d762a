package import KeySharing

/// Which single files the root of the 2025 listing shows (docs/rules.md R3.2).
package enum RootContents: String, Sendable, CaseIterable, Codable {
    /// Every identity.
    case all
    /// What the folder `All` holds: the most recent identities of each type and every encryption identity, as in
    /// the sample app.
    case recent
}

/// The identities of a provider at one moment, sorted into the root and every selector.
package struct CatalogueSnapshot: Sendable {
    /// The keychain's change count at the time of reading.
    package let generation: Int64

    private let sorted: SortedIdentities
    private let labels: LabelIndex
    private let rootContents: RootContents
    /// For each selector the positions of its members in `identities`, as ascending ranges.
    private let members: [Selector: [Range<Int>]]

    /// Every identity, in the order of docs/rules.md R3.10.
    package var identities: SegmentedArray<IdentitySummary> { sorted.ordered }

    /// Sorts identities and decides for each selector which of them belong to it.
    ///
    /// - Parameters:
    ///   - generation: the keychain's change count, taken before the identities were read.
    ///   - identities: every identity of the provider.
    ///   - rootContents: which single files the root shows.
    package init(
        generation: Int64, identities: some Sequence<IdentitySummary>, root rootContents: RootContents = .all
    ) {
        let sorted = SortedIdentities(identities, under: .keySharing2025)
        self.init(generation, sorted, LabelIndex(sorted.ordered), rootContents, Self.members(of: sorted))
    }

    private init(
        _ generation: Int64, _ sorted: SortedIdentities, _ labels: LabelIndex, _ rootContents: RootContents,
        _ members: [Selector: [Range<Int>]]
    ) {
        self.generation = generation
        self.sorted = sorted
        self.labels = labels
        self.rootContents = rootContents
        self.members = members
    }

    private static func members(of sorted: SortedIdentities) -> [Selector: [Range<Int>]] {
        Dictionary(
            uniqueKeysWithValues: Selector.allCases.map {
                ($0, sorted.memberRanges($0.selection(.keySharing2025)))
            })
    }

    /// The snapshot of a later moment, at which there are further identities, and none has gone or changed.
    package func adding(_ others: [IdentitySummary], generation: Int64) -> CatalogueSnapshot {
        let sorted = sorted.adding(others)
        return CatalogueSnapshot(
            generation, sorted, labels.adding(others), rootContents, Self.members(of: sorted))
    }

    /// The snapshot with some of its identities only. Each stays in the containers in which it is listed: whether it is
    /// the most recent was decided among all (docs/rules.md R7.22).
    package func limited(to isIncluded: (IdentitySummary) -> Bool) -> CatalogueSnapshot {
        var kept: [IdentitySummary] = []
        /// For each position the number of identities before it that are kept.
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

    /// The number of files in the folder of `selector`, or at the root where `selector` is nil.
    package func count(in selector: Selector?) -> Int {
        ranges(selector).reduce(0) { $0 + $1.count }
    }

    /// The identity of a file by its position in the folder of `selector`, or at the root where `selector` is nil.
    ///
    /// - Precondition: `index` is below `count(in:)`.
    package func identity(at index: Int, in selector: Selector?) -> IdentitySummary {
        var rest = index
        for range in ranges(selector) {
            if rest < range.count { return identities[range.lowerBound + rest] }
            rest -= range.count
        }
        preconditionFailure("there is no file \(index)")
    }

    /// The identities in the folder of `selector` and in the zip of `selector`, which hold the same ones.
    package func members(of selector: Selector) -> [IdentitySummary] {
        (members[selector] ?? []).flatMap { identities[$0] }
    }

    /// The newest of the identities in the folder of `selector`; nil where it is empty.
    package func newest(of selector: Selector) -> IdentitySummary? {
        // Within a type, and each range is of one, the newest comes first.
        (members[selector] ?? []).map { identities[$0.lowerBound] }.max { $0.notBefore < $1.notBefore }
    }

    /// The identity of `label` in the folder of `selector`, or at the root where `selector` is nil; nil where it is
    /// not a member. Listing and looking up use one decision (docs/rules.md R3.21).
    package func identity(_ label: String, in selector: Selector?) -> IdentitySummary? {
        guard let identity = labels[label], let position = sorted.firstIndex(of: identity),
            ranges(selector).contains(where: { $0.contains(position) })
        else { return nil }
        return identity
    }

    /// The positions in `identities` of a container's files.
    private func ranges(_ selector: Selector?) -> [Range<Int>] {
        switch (selector, rootContents) {
        case (let selector?, _): members[selector] ?? []
        case (nil, .recent): members[.all] ?? []
        case (nil, .all): [identities.indices]
        }
    }
}

/// Identities by label. Adding some shares the memory of the others.
private struct LabelIndex: Sendable {
    private let base: [String: IdentitySummary]
    private var added: [String: IdentitySummary] = [:]

    /// The number of added identities beyond which the next addition makes one dictionary of all.
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
