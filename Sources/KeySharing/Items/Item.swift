public import Foundation

/// One thing the provider publishes, as a document picker sees it: an `NSFileProviderItem` reduced to what
/// key sharing uses.
public struct Item: Sendable, Hashable {
    /// What an item is on disk.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case pkcs12
        case folder
        case zip
    }

    /// The root container's identifier.
    public static let root = "root"

    /// Names the item for as long as the provider holds its identity; unique over all containers.
    public var identifier: String
    /// The name a user sees; unique in its container only.
    public var filename: String
    public var kind: Kind
    /// Its uniform type identifier.
    public var contentType: String
    /// The identifier of the container that lists it.
    public var parent: String
    /// In bytes; nil for folders, for what was never made yet, and for archives over the zip limits.
    public var size: Int?
    /// Creation and modification date alike.
    public var created: Date

    public init(
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
public struct ItemPage: Sendable, Hashable {
    public var items: [Item]
    /// Asks for the following page; nil at the end.
    public var nextCursor: String?

    public init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }
}
