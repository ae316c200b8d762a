internal import KeyShareProtocol
internal import KeyShareWire
package import KeySharing
internal import LocalSockets

// Lists, which a provider sends in pages.

extension ProviderClient {
    /// Requests all items of a container, page after page.
    ///
    /// - Throws: `ProviderFailure` `notAvailable` if the container does not exist. `SocketError`, including
    ///   `contentTooLarge` and `timedOut` if the list exceeds the limits.
    package func items(in container: String) async throws -> [Item] {
        var budget = ListBudget(limits)
        return try await items(in: container, within: &budget)
    }

    /// Requests all items of the root, each folder followed by its items.
    ///
    /// - Throws: `ProviderFailure`. `SocketError`, including `contentTooLarge` and `timedOut` if the root has too many
    ///   folders, or if all lists together exceed the limits.
    package func allItems() async throws -> [Item] {
        var budget = ListBudget(limits, lists: limits.allLists)
        var items: [Item] = []
        var folders = 0
        for item in try await self.items(in: Item.root, within: &budget) {
            items.append(item)
            guard item.kind == .folder else { continue }
            folders += 1
            guard folders <= limits.folders else {
                throw SocketError(.contentTooLarge, "the provider has more than \(limits.folders) folders")
            }
            items += try await self.items(in: item.identifier, within: &budget)
        }
        return items
    }

    private func items(in container: String, within budget: inout ListBudget) async throws -> [Item] {
        try await list(size: \.wireSize, within: &budget) { cursor in
            let page = try await page(of: container, after: cursor)
            return (page.items, page.nextCursor)
        }
    }

    /// Requests all pages of a list, within the limits of one list; see ``list(size:within:_:)``.
    func list<Entry>(
        size: (Entry) -> Int, _ page: (String?) async throws -> (entries: [Entry], next: String?)
    ) async throws -> [Entry] {
        var budget = ListBudget(limits)
        return try await list(size: size, within: &budget, page)
    }

    /// Requests all pages of a list.
    ///
    /// - Parameters:
    ///   - size: Returns the size of an entry in bytes.
    ///   - budget: The remaining entries, bytes and time, from which those of this list are subtracted.
    ///   - page: Requests the page at a cursor.
    /// - Throws: `SocketError`: `contentTooLarge` and `timedOut` if the list exceeds the limits, `malformedReply` if
    ///   the pages do not end. Also the errors of `page`.
    private func list<Entry>(
        size: (Entry) -> Int, within budget: inout ListBudget,
        _ page: (String?) async throws -> (entries: [Entry], next: String?)
    ) async throws -> [Entry] {
        var entries: [Entry] = []
        var cursor: String?
        repeat {
            try Self.check(budget.deadline)
            let (more, next) = try await page(cursor)
            entries += more
            try budget.subtract(entries: more.count, bytes: more.reduce(0) { $0 + size($1) })
            cursor = try Self.advance(from: cursor, to: next, isEmpty: more.isEmpty)
        } while cursor != nil
        return entries
    }

    /// Returns the cursor of the next request, or nil at the end.
    ///
    /// - Throws: `malformedReply` if a cursor repeats, or if a page is empty and not the last. Such a list could be
    ///   endless.
    private static func advance(
        from cursor: String?, to next: String?, isEmpty: Bool
    ) throws(SocketError) -> String? {
        guard let next else { return nil }
        guard next != cursor, !isEmpty else {
            throw SocketError(.malformedReply, "the provider's list does not end")
        }
        return next
    }
}

/// The entries, bytes and time that remain for one list, or for several lists together.
private struct ListBudget {
    let deadline: ContinuousClock.Instant
    private let entries: Int
    private let bytes: Int
    private var usedEntries = 0
    private var usedBytes = 0

    /// Creates the budget of `lists` lists, but with the time of one list.
    init(_ limits: ProviderClient.Limits, lists: Int = 1) {
        deadline = .now + limits.whole
        entries = limits.listedEntries * lists
        bytes = limits.listedBytes * lists
    }

    /// Subtracts the entries and bytes of a page.
    ///
    /// - Throws: `contentTooLarge` if too few remain.
    mutating func subtract(entries: Int, bytes: Int) throws(SocketError) {
        usedEntries += entries
        usedBytes += bytes
        guard usedEntries <= self.entries, usedBytes <= self.bytes else {
            throw SocketError(
                .contentTooLarge,
                "the list has more than \(self.entries) entries or \(self.bytes) bytes")
        }
    }
}
