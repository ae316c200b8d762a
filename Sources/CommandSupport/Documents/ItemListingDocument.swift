package import Foundation
package import KeySharing

/// The JSON document of `list` and `browse`.
package struct ItemListingDocument: Encodable, Sendable {
    /// One item; `enabled` is there for consumers only.
    package struct Row: Encodable, Sendable {
        package let identifier: String
        package let filename: String
        package let kind: String
        package let contentType: String
        package let parent: String
        package let size: Int?
        package let created: Date
        package let enabled: Bool?

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

        // By hand, because `size` is said to be null where it is not known, and `enabled` is left out.
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

    package let mechanism: String
    package let container: String
    package let items: [Row]
    package let requested: [String]?

    package init(mechanism: Mechanism, container: String, items: [Row], requested: [String]? = nil) {
        self.mechanism = mechanism.rawValue
        self.container = container
        self.items = items
        self.requested = requested
    }
}

extension Console {
    /// Writes items as a table; those a consumer may not pick are marked and dimmed.
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
                    + [String(row.created.utcText.prefix(10))] + (showsIdentifiers ? [row.identifier] : []))
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
