internal import KeyShareProtocol
package import KeyShareWire
package import Foundation
package import KeySharing

/// The containers and items of the 2025 mechanism, as a file provider enumerates them (docs/rules.md R1.6, R3).
package struct ItemListing: Sendable {
    /// The identities that the listing contains.
    package let snapshot: CatalogueSnapshot
    /// The time of the request. Zips and empty folders have this date (docs/rules.md R3.15, R3.16).
    package let now: Date
    /// Returns the size in bytes of an item that was exported before, and nil for any other item. No file is exported
    /// only to determine its size (docs/rules.md R3.22).
    package let knownSize: @Sendable (ItemIdentifier) -> Int?

    /// Creates a listing of `snapshot`.
    package init(
        _ snapshot: CatalogueSnapshot, now: Date,
        knownSize: @escaping @Sendable (ItemIdentifier) -> Int? = { _ in nil }
    ) {
        self.snapshot = snapshot
        self.now = now
        self.knownSize = knownSize
    }

    /// Returns a page of a container's items. The root lists files first, then folders, then zips (docs/rules.md R3.1,
    /// R3.18).
    ///
    /// A cursor expires when the keychain changes.
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if the container does not exist, or the cursor is malformed or has
    ///   expired.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) throws(ProviderFailure) -> ItemPage {
        let selector = try selector(of: container)
        let files = snapshot.count(in: selector)
        let count = files + (selector == nil ? IdentitySelector.allCases.count * 2 : 0)
        let start = try offset(of: cursor, count: count)
        let end = start + min(max(limit, 1), count - start)
        let items = (start..<end).map { index in
            index < files
                ? file(snapshot.identity(at: index, in: selector), in: selector)
                : self.container(at: index - files)
        }
        return ItemPage(items: items, nextCursor: end < count ? "\(snapshot.generation):\(end)" : nil)
    }

    /// Returns a page of the identities in a container's files, in the order of the files.
    ///
    /// A cursor expires when the keychain changes.
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if the container does not exist, or the cursor is malformed or has
    ///   expired.
    package func identities(
        of container: String, after cursor: String?, limit: Int
    ) throws(ProviderFailure) -> IdentityFactsPage {
        let selector = try selector(of: container)
        let count = snapshot.count(in: selector)
        let start = try offset(of: cursor, count: count)
        let end = start + min(max(limit, 1), count - start)
        return IdentityFactsPage(
            facts: (start..<end).map { snapshot.identity(at: $0, in: selector) },
            nextCursor: end < count ? "\(snapshot.generation):\(end)" : nil)
    }

    /// Returns the selector of the folder with this identifier; nil for the root.
    private func selector(of container: String) throws(ProviderFailure) -> IdentitySelector? {
        if container.hasSameBytes(as: Item.root) { return nil }
        guard let selector = IdentitySelector(folderName: container) else {
            throw ProviderFailure(.notAvailable, "unknown container \u{201C}\(container)\u{201D}")
        }
        return selector
    }

    /// Returns the item with this identifier.
    ///
    /// - Throws: `ProviderFailure`: `.notAvailable` if no item has this identifier.
    package func item(_ identifier: String) throws(ProviderFailure) -> Item {
        guard let item = ItemIdentifier(identifier).flatMap(item(for:)) else {
            throw ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
        }
        return item
    }

    /// Finds an item by any name that a list prints for it (docs/rules.md R7.18, R7.21).
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
        else { throw ProviderFailure(.notAvailable, "the page has expired; start again from the first page") }
        return Int(start)
    }

    private func file(_ identity: IdentitySummary, in selector: IdentitySelector?) -> Item {
        .file(
            identity, in: selector, under: .keySharing2025,
            size: knownSize(ItemIdentifier(label: identity.label, in: selector)))
    }

    private func container(at index: Int) -> Item {
        let selectors = IdentitySelector.allCases
        return index < selectors.count ? folder(selectors[index]) : zip(selectors[index - selectors.count])
    }

    private func folder(_ selector: IdentitySelector) -> Item {
        // An empty folder contains no identity that could determine its date (docs/rules.md R3.16).
        .folder(selector, created: snapshot.newest(of: selector)?.notBefore ?? now)
    }

    private func zip(_ selector: IdentitySelector) -> Item {
        .zip(selector, size: knownSize(.zip(selector)), created: now)
    }
}
