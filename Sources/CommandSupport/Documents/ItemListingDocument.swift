package import Foundation
package import KeySharing

/// The JSON document of the provider's `list` and of `browse`.
package struct ItemListingDocument: Codable, Sendable {
    /// One item.
    package struct Row: Codable, Sendable {
        /// The name by which a consumer asks for the item.
        package let identifier: String
        /// The name that a user sees.
        package let filename: String
        /// What the item is: `pkcs12`, `folder` or `zip`.
        package let kind: String
        /// The uniform type of the item.
        package let contentType: String
        /// The identifier of the container that lists the item.
        package let parent: String
        /// The size in bytes; null where it is not known.
        package let size: Int?
        /// When the item was created.
        package let created: Date
        /// Whether the consumer may pick the item; left out of the provider's own list.
        package let enabled: Bool?

        /// Describes an item.
        ///
        /// - Parameters:
        ///   - item: the item.
        ///   - enabled: whether the consumer may pick the item; nil in the provider's own list.
        package init(_ item: Item, enabled: Bool? = nil) {
            identifier = item.identifier
            filename = item.filename
            kind = item.kind.rawValue
            contentType = item.contentType
            parent = item.parent
            size = item.size
            created = item.created
            self.enabled = enabled
        }

        // Written by hand, because an unknown `size` is null and an unknown `enabled` is left out.
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
    /// The types that the consumer asked for; left out of the provider's own list.
    package let requested: [String]?

    /// A list by its parts.
    package init(mechanism: Mechanism, container: String, items: [Row], requested: [String]? = nil) {
        self.mechanism = mechanism.rawValue
        self.container = container
        self.items = items
        self.requested = requested
    }
}

extension Console {
    /// Writes items as a table; a dash and dimmed text mark the items that a consumer may not pick.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
    package func table(of rows: [ItemListingDocument.Row]) throws(CommandFailure) {
        if rows.isEmpty { note("nothing is listed") }
        let isConsumer = rows.contains { $0.enabled != nil }
        // At the root a file's name will do; elsewhere only the identifier names it.
        let showsIdentifiers = verbosity == .verbose || rows.contains { $0.parent != Item.root }
        var table = Table(
            (isConsumer ? [""] : []) + ["NAME", "TYPE", "CREATED"] + (showsIdentifiers ? ["IDENTIFIER"] : []))
        for row in rows {
            let mark = row.enabled == true ? "*" : "-"
            table.append(
                (isConsumer ? [mark] : [])
                    + [row.filename + (row.kind == "folder" ? "/" : ""), row.contentType]
                    + [row.created.dayText] + (showsIdentifiers ? [row.identifier] : []))
        }
        for line in table.text.split(separator: "\n") {
            if isConsumer, line.hasPrefix("-") {
                try dimmed(String(line))
            } else {
                try data(String(line))
            }
        }
    }
}
