package import Foundation

/// One thing the provider publishes, as a document picker sees it: an `NSFileProviderItem` reduced to what
/// key sharing uses.
package struct Item: Sendable, Hashable {
    /// What an item is on disk.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case pkcs12
        case folder
        case zip
    }

    /// The root container's identifier.
    package static let root = "root"

    /// Names the item for as long as the provider holds its identity; unique over all containers.
    package var identifier: String
    /// The name a user sees; unique in its container only.
    package var filename: String
    package var kind: Kind
    /// Its uniform type identifier.
    package var contentType: String
    /// The identifier of the container that lists it.
    package var parent: String
    /// In bytes; nil for folders, for what was never made yet, and for archives over the zip limits.
    package var size: Int?
    /// Creation and modification date alike.
    package var created: Date

    package init(
        identifier: String, filename: String, kind: Kind, contentType: String, parent: String, size: Int?,
        created: Date
    ) {
        self.identifier = identifier
        self.filename = filename
        self.kind = kind
        self.contentType = contentType
        self.parent = parent
        self.size = size
        self.created = created
    }
}

/// A stretch of a container's items, and where the next one starts.
package struct ItemPage: Sendable, Hashable {
    package var items: [Item]
    /// Asks for the following page; nil at the end.
    package var nextCursor: String?

    package init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }
}
