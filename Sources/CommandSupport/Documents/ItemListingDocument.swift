package import Foundation
package import KeySharing

/// The JSON document of the provider's `list` and of `browse`.
package struct ItemListingDocument: Codable, Sendable {
    /// One listed item.
    package struct Row: Codable, Sendable {
        /// The name that a consumer uses to request the item.
        package let identifier: String
        /// The name that is shown to users.
        package let filename: String
        /// The kind of item: `pkcs12`, `folder` or `zip`.
        package let kind: String
        /// The uniform type of the item.
        package let contentType: String
        /// The identifier of the container that lists the item.
        package let parent: String
        /// The size of the item in bytes; null if unknown.
        package let size: Int?
        /// The date of the item's creation.
        package let created: Date
        /// Whether the consumer may pick the item; omitted from the provider's own list.
        package let enabled: Bool?
        /// The identity in the file. In JSON, its fields are among those of the row. Nil for folders and zips, and if
        /// the provider does not publish the identity.
        package let identity: IdentityDocument?

        /// Creates the row of an item.
        ///
        /// - Parameters:
        ///   - item: the item.
        ///   - identities: the known identities, keyed by label.
        ///   - enabled: whether the consumer may pick the item; nil in the provider's own list.
        package init(_ item: Item, of identities: [String: IdentitySummary], enabled: Bool? = nil) {
            identity = item.label.flatMap { identities[$0] }.map(IdentityDocument.init)
            identifier = item.identifier
            filename = item.filename
            kind = item.kind.rawValue
            contentType = item.contentType
            parent = item.parent
            size = item.size
            created = item.created
            self.enabled = enabled
        }

        // Written by hand, because an unknown `size` is null and an unknown `enabled` is omitted.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(identifier, forKey: .identifier)
            try container.encode(filename, forKey: .filename)
            try container.encode(kind, forKey: .kind)
            try container.encode(contentType, forKey: .contentType)
            try container.encode(parent, forKey: .parent)
            try container.encode(size, forKey: .size)
            try container.encode(created, forKey: .created)
            try container.encodeIfPresent(enabled, forKey: .enabled)
            try IdentityDocument.encode(identity, to: encoder)
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            identifier = try container.decode(String.self, forKey: .identifier)
            filename = try container.decode(String.self, forKey: .filename)
            kind = try container.decode(String.self, forKey: .kind)
            contentType = try container.decode(String.self, forKey: .contentType)
            parent = try container.decode(String.self, forKey: .parent)
            size = try container.decode(Int?.self, forKey: .size)
            created = try container.decode(Date.self, forKey: .created)
            enabled = try container.decodeIfPresent(Bool.self, forKey: .enabled)
            identity = try? IdentityDocument(from: decoder)
        }

        private enum CodingKeys: CodingKey {
            case identifier, filename, kind, contentType, parent, size, created, enabled
        }
    }

    /// The mechanism of the list: `2025` or `legacy`.
    package let mechanism: String
    /// The identifier of the container that is listed.
    package let container: String
    /// The items in the order of the list.
    package let items: [Row]
    /// The types that the consumer requested; omitted from the provider's own list.
    package let requested: [String]?

    /// Creates the document of a list.
    package init(mechanism: Mechanism, container: String, items: [Row], requested: [String]? = nil) {
        self.mechanism = mechanism.rawValue
        self.container = container
        self.items = items
        self.requested = requested
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
