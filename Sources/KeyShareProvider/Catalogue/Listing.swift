package import KeyShareWire
package import Foundation
package import KeySharing

/// The 2025 provider's containers and items, as a file provider enumerates them.
package struct Listing: Sendable {
    package let snapshot: CatalogueSnapshot
    /// When zips count as made: the time of asking.
    package let now: Date
    /// The size in bytes of what was exported already, by item identifier; an export is never made to learn it.
    package let knownSize: @Sendable (ItemIdentifier) -> Int?

    package init(
        _ snapshot: CatalogueSnapshot, now: Date,
        knownSize: @escaping @Sendable (ItemIdentifier) -> Int? = { _ in nil }
    ) {
        self.snapshot = snapshot
        self.now = now
        self.knownSize = knownSize
    }

    /// Some of a container's items: at the root the files, then the folders, then the zips.
    ///
    /// A cursor is good for the state of the keychain it was given for.
    ///
    /// - Throws: `ProviderFailure` `.notAvailable` for a container that does not exist and a cursor that is none
    ///   or has expired.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) throws(ProviderFailure) -> ItemPage {
        let selector = Selector(folderName: container)
        guard container == Item.root || selector != nil else {
            throw ProviderFailure(.notAvailable, "there is no container \u{201C}\(container)\u{201D}")
        }
        let files = snapshot.count(in: selector)
        let count = files + (selector == nil ? Selector.allCases.count * 2 : 0)
        let start = try offset(of: cursor, count: count)
        let end = start + min(max(limit, 1), count - start)
        let items = (start..<end).map { index in
            index < files
                ? file(snapshot.identity(at: index, in: selector), in: selector)
                : self.container(at: index - files)
        }
        return ItemPage(items: items, nextCursor: end < count ? "\(snapshot.generation):\(end)" : nil)
    }

    /// One item by its identifier.
    ///
    /// - Throws: `ProviderFailure` `.notAvailable` where there is none.
    package func item(_ identifier: String) throws(ProviderFailure) -> Item {
        guard let item = ItemIdentifier(identifier).flatMap(item(for:)) else {
            throw ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
        }
        return item
    }

    /// The item that `name` names, by identifier or by file name (docs/rules.md R7.18).
    ///
    /// - Throws: `RequestError`: `.noSuchItem`, `.ambiguousName`.
    package func find(_ name: String) async throws -> Item {
        try await ItemLookup.find(name, item: item(for:)) { container in
            try page(of: container, after: nil, limit: .max).items
        }
    }

    private func item(for identifier: ItemIdentifier) -> Item? {
        switch identifier {
        case .identity(let label):
            snapshot.identity(label, in: nil).map { file($0, in: nil) }
        case .member(let selector, let label):
            snapshot.identity(label, in: selector).map { file($0, in: selector) }
        case .folder(let selector): folder(selector)
        case .zip(let selector): zip(selector)
        }
    }

    private func offset(of cursor: String?, count: Int) throws(ProviderFailure) -> Int {
        guard let cursor else { return 0 }
        let parts = cursor.split(separator: ":").map { Int64($0) }
        guard parts.count == 2, parts[0] == snapshot.generation, let start = parts[1],
            (0...Int64(count)).contains(start)
        else { throw ProviderFailure(.notAvailable, "the page has expired; start again from the first") }
        return Int(start)
    }

    private func file(_ identity: IdentitySummary, in selector: Selector?) -> Item {
        .file(
            identity, in: selector, under: .keySharing2025,
            size: knownSize(ItemIdentifier(label: identity.label, in: selector)))
    }

    private func container(at index: Int) -> Item {
        let selectors = Selector.allCases
        return index < selectors.count ? folder(selectors[index]) : zip(selectors[index - selectors.count])
    }

    private func folder(_ selector: Selector) -> Item {
        // A folder is as old as the newest thing in it; an empty one has no date of its own.
        let newest = (0..<snapshot.count(in: selector)).lazy
            .map { snapshot.identity(at: $0, in: selector).notBefore }.max()
        return .folder(selector, created: newest ?? now)
    }

    private func zip(_ selector: Selector) -> Item {
        .zip(selector, size: knownSize(.zip(selector)), created: now)
    }
}
