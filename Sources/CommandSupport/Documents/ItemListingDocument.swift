package import Foundation
package import KeySharing

/// The JSON document of the provider's `list` and of `browse`.
package struct ItemListingDocument: Codable, Sendable {
    /// One item. It has no identity if it is a folder or a zip, or if the provider does not publish the identity of the
    /// file.
    package typealias Row = WithOptionalIdentity<RowFields>

    /// The fields of an item, without those of its identity.
    package struct RowFields: Codable, Sendable {
        /// The name with which a consumer requests the item.
        package var identifier: String
        /// The name that is shown to users.
        package var filename: String
        /// The kind of item: `pkcs12`, `folder` or `zip`.
        package var kind: String
        /// The uniform type of the item.
        package var contentType: String
        /// The identifier of the container that lists the item.
        package var parent: String
        /// The size in bytes; null if unknown.
        @Nullable package var size: Int?
        /// When the item was created.
        package var created: Date
        /// Whether the consumer may pick the item; omitted from the provider's own list.
        package var enabled: Bool?
    }

    /// The mechanism of the list: `2025` or `legacy`.
    package let mechanism: String
    /// The identifier of the container that is listed.
    package let container: String
    /// The items in the order of the list.
    package let items: [Row]
    /// The types that the consumer requested; omitted from the provider's own list.
    package let requested: [String]?

    /// Creates the document from its fields. `requested` is nil in the provider's own list.
    package init(mechanism: Mechanism, container: String, items: [Row], requested: [String]? = nil) {
        self.mechanism = mechanism.rawValue
        self.container = container
        self.items = items
        self.requested = requested
    }
}

extension ItemListingDocument.Row {
    /// Creates the row of an item. The row has the identity's fields if the item's label is among `identities`.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - identities: The known identities, keyed by label.
    ///   - enabled: Whether the consumer may pick the item; nil in the provider's own list.
    package init(_ item: Item, of identities: [String: IdentitySummary], enabled: Bool? = nil) {
        self.init(
            item.label.flatMap { identities[$0] },
            ItemListingDocument.RowFields(
                identifier: item.identifier, filename: item.filename, kind: item.kind.rawValue,
                contentType: item.contentType, parent: item.parent, size: item.size, created: item.created,
                enabled: enabled))
    }
}

extension Console {
    /// Writes items as a table. A dash and dimmed text mark the items that a consumer may not pick.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func table(of rows: [ItemListingDocument.Row]) throws(CommandFailure) {
        if rows.isEmpty { note("nothing is listed") }
        let isConsumer = rows.contains { $0.enabled != nil }
        // At the root the file name is sufficient. In folders only the identifier is unique.
        let showsIdentifiers = isWide || verbosity == .verbose || rows.contains { $0.parent != Item.root }
        let showsPersons = rows.contains { $0.identity != nil }
        var columns: [Table.Column] = isConsumer ? [""] : []
        columns.append(.init("NAME", .uniqueStart(atLeast: Self.startOfName)))
        columns.append(.init("TYPE", .wraps(24)))
        if showsPersons { columns.append(.init("PERSON", .wraps(14))) }
        columns.append(.init("CREATED", leaves: 2))
        if showsPersons { columns.append(.init("EXPIRES", leaves: 3)) }
        if showsIdentifiers { columns.append(.init("IDENTIFIER", leaves: 1)) }
        var table = Table(columns)
        for row in rows {
            var cells = isConsumer ? [row.enabled == true ? "*" : "-"] : []
            cells += [row.filename + (row.kind == "folder" ? "/" : ""), row.contentType]
            if showsPersons { cells.append(row.identity?.personText ?? "") }
            cells.append(row.created.dayText)
            if showsPersons { cells.append(row.identity?.expiryText ?? "") }
            if showsIdentifiers { cells.append(row.identifier) }
            table.append(cells)
        }
        try self.table(table) { rows[$0].enabled == false }
    }

    /// The length of a shortened file name: enough for the longest type and part of a serial number.
    static let startOfName = 18
}
