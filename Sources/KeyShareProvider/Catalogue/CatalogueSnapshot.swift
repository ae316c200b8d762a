package import KeySharing

/// What a 2025 provider's root shows of single files.
package enum RootContents: String, Sendable, CaseIterable, Codable {
    /// Every identity.
    case all
    /// The most recent of each type and every encryption one, as the sample provider has it.
    case recent
}

/// The identities of a provider at one moment, sorted into the root and every selector.
package struct CatalogueSnapshot: Sendable {
    /// The keychain's change count that this is the state of.
    package let generation: Int64
    /// Every identity, in the order of lists.
    package let identities: [IdentitySummary]

    private let rootContents: RootContents
    /// For each selector the positions of its members in `identities`, ascending.
    private let members: [Selector: [Int]]
    private let positions: [String: Int]

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

    /// How many files the root (nil) or a folder holds.
    package func count(in selector: Selector?) -> Int {
        memberPositions(selector)?.count ?? identities.count
    }

    /// The file at a place of the root (nil) or a folder; `index` is below `count(in:)`.
    package func identity(at index: Int, in selector: Selector?) -> IdentitySummary {
        identities[memberPositions(selector)?[index] ?? index]
    }

    /// The identities of a folder and of the zip beside it.
    package func members(of selector: Selector) -> [IdentitySummary] {
        (members[selector] ?? []).map { identities[$0] }
    }

    /// The identity of this label in the root (nil) or a folder; nil where it is not there.
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

    /// Nil where every identity is there.
    private func memberPositions(_ selector: Selector?) -> [Int]? {
        switch (selector, rootContents) {
        case (let selector?, _): members[selector] ?? []
        case (nil, .recent): members[.all] ?? []
        case (nil, .all): nil
        }
    }
}
