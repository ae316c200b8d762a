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
    /// Every identity, in the order of docs/rules.md R3.10.
    package let identities: [IdentitySummary]

    private let rootContents: RootContents
    /// For each selector the positions of its members in `identities`, ascending.
    private let members: [Selector: [Int]]
    private let positions: [String: Int]

    /// Sorts identities and decides for each selector which of them belong to it.
    ///
    /// - Parameters:
    ///   - generation: the keychain's change count, taken before the identities were read.
    ///   - identities: every identity of the provider.
    ///   - rootContents: which single files the root shows.
    package init(
        generation: Int64, identities: some Sequence<IdentitySummary>, root rootContents: RootContents = .all
    ) {
        let list = SortedIdentities(identities, under: .keySharing2025)
        self.generation = generation
        self.identities = list.identities
        self.rootContents = rootContents
        members = Dictionary(
            uniqueKeysWithValues: Selector.allCases.map { selector in
                let decisions = list.decide(selector.selection(.keySharing2025))
                return (selector, decisions.indices.filter { decisions[$0].outcome == .member })
            })
        positions = Dictionary(
            list.identities.enumerated().map { ($0.element.label, $0.offset) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The number of files in the folder of `selector`, or at the root where `selector` is nil.
    package func count(in selector: Selector?) -> Int {
        memberPositions(selector)?.count ?? identities.count
    }

    /// The identity of a file by its position in the folder of `selector`, or at the root where `selector` is nil.
    ///
    /// - Precondition: `index` is below `count(in:)`.
    package func identity(at index: Int, in selector: Selector?) -> IdentitySummary {
        identities[memberPositions(selector)?[index] ?? index]
    }

    /// The identities in the folder of `selector` and in the zip of `selector`, which hold the same ones.
    package func members(of selector: Selector) -> [IdentitySummary] {
        (members[selector] ?? []).map { identities[$0] }
    }

    /// The identity of `label` in the folder of `selector`, or at the root where `selector` is nil; nil where it is
    /// not a member. Listing and looking up use one decision (docs/rules.md R3.21).
    package func identity(_ label: String, in selector: Selector?) -> IdentitySummary? {
        guard let position = positions[label] else { return nil }
        guard let members = memberPositions(selector) else { return identities[position] }
        var range = 0..<members.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if members[middle] == position { return identities[position] }
            range = members[middle] < position ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    /// The positions in `identities` of a container's files; nil where the container holds every identity.
    private func memberPositions(_ selector: Selector?) -> [Int]? {
        switch (selector, rootContents) {
        case (let selector?, _): members[selector] ?? []
        case (nil, .recent): members[.all] ?? []
        case (nil, .all): nil
        }
    }
}
