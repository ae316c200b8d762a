package import Foundation
package import KeySharing

/// Chooses the files for `export`.
package struct ExportChoice {
    /// The published items, limited to the requested persons.
    package let snapshot: CatalogueSnapshot
    private let mechanism: Mechanism
    private let types: [String]
    private let now: Date
    private let names: FileNaming?
    private let published: CatalogueSnapshot
    private let isIncluded: (IdentitySummary) -> Bool

    /// Chooses among published items.
    ///
    /// - Parameters:
    ///   - published: All published items.
    ///   - mechanism: The mechanism whose files are exported.
    ///   - types: The types that the legacy provider returns; empty for the 2025 mechanism.
    ///   - now: The time for the decisions of the rules.
    ///   - names: The naming scheme; nil for the names that the provider publishes.
    ///   - isIncluded: Whether an identity belongs to the requested persons.
    package init(
        _ published: CatalogueSnapshot, mechanism: Mechanism, types: [String], now: Date, names: FileNaming?,
        isIncluded: @escaping (IdentitySummary) -> Bool
    ) {
        self.published = published
        self.mechanism = mechanism
        self.types = types
        self.now = now
        self.names = names
        self.isIncluded = isIncluded
        snapshot = published.limited(to: isIncluded)
    }

    /// Returns the only file with this name.
    ///
    /// - Throws: `RequestError`.
    package func file(_ name: String) async throws -> ExportedFile {
        guard mechanism == .legacy else { return try await item(name) }
        let files = try legacyFiles()
        guard let row = try ItemLookup.match(name, in: files.map(\.row)),
            let file = files.first(where: { $0.row.identifier == row.identifier })
        else { throw RequestError(.noSuchItem, name) }
        return file.file
    }

    /// Returns every file.
    ///
    /// - Throws: `RequestError`.
    package func allFiles() throws -> [ExportedFile] {
        mechanism == .legacy
            ? try legacyFiles().map(\.file)
            : snapshot.identities.map { file(of: $0, .item(.identity(label: $0.label))) }
    }

    /// Returns the single file of a published identity.
    package func file(of identity: IdentitySummary) -> ExportedFile {
        file(of: identity, .item(.identity(label: identity.label)))
    }

    private func item(_ name: String) async throws -> ExportedFile {
        let found = try await ItemListing(snapshot, now: now).find(name)
        try found.requireContent()
        guard let identifier = ItemIdentifier(found.identifier) else {
            throw RequestError(.noSuchItem, found.identifier)
        }
        guard let label = found.label, let identity = snapshot.identity(label, in: nil) else {
            return ExportedFile(
                name: found.filename, identifier: found.identifier, identity: nil, source: .item(identifier))
        }
        return file(of: identity, .item(identifier), identifier: found.identifier)
    }

    /// Returns the files that a legacy provider would return, each with its row in the list.
    private func legacyFiles() throws -> [(row: Item, file: ExportedFile)] {
        // “Most recent” is determined across all persons, as in the provider.
        let listing = LegacyListing(
            published.identities, request: try TypeRequest(types, under: .legacy), now: now)
        return listing.rows.compactMap { row in
            let identities = listing.identities(of: row.identifier).filter(isIncluded)
            guard let first = identities.first else { return nil }
            guard listing.request.shape == .archive else {
                let name = names == nil ? Self.legacyName : names?.name(of: first, .legacy)
                return (
                    row,
                    ExportedFile(
                        name: name ?? Self.legacyName, identifier: row.identifier, identity: first,
                        source: .legacyFile(first))
                )
            }
            return (
                row,
                ExportedFile(
                    name: LegacyRequest.archiveName, identifier: row.identifier, identity: nil,
                    source: .legacyArchive(identities))
            )
        }
    }

    private func file(
        of identity: IdentitySummary, _ source: ExportedFile.Source, identifier: String? = nil
    ) -> ExportedFile {
        ExportedFile(
            name: (names ?? .serial).name(of: identity, mechanism), identifier: identifier ?? identity.label,
            identity: identity, source: source)
    }

    /// The name of a file from a legacy provider (docs/rules.md R4.11).
    private static let legacyName = "tmp.p12"
}
