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

extension Item {
    /// The published file of an identity: the row that every list shows for it.
    ///
    /// - Parameters:
    ///   - selector: the 2025 folder that lists the file; nil for the root. Legacy has no folders.
    ///   - size: in bytes; nil where the file was never made.
    public static func file(
        _ identity: IdentitySummary, in selector: Selector? = nil, under mechanism: Mechanism,
        size: Int? = nil
    ) -> Item {
        Item(
            identifier: ItemIdentifier(label: identity.label, in: selector).description,
            filename: identity.filename(mechanism), kind: .pkcs12,
            contentType: selector?.companionType ?? mechanism.plainType,
            parent: selector?.folderName ?? Item.root, size: size, created: identity.notBefore)
    }

    /// Makes sure that the item has bytes: a folder has none (docs/rules.md R2.10).
    ///
    /// - Throws: `RequestError` `.isFolder`.
    public func requireContent() throws(RequestError) {
        guard kind.hasContent else { throw RequestError(.isFolder, filename) }
    }
}

extension Item.Kind {
    /// Whether an item of this kind has bytes that can be imported, exported or granted (docs/rules.md R2.10).
    public var hasContent: Bool { self != .folder }
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
