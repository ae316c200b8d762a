public import Foundation

/// A thing that a provider publishes, as a document picker sees it: an `NSFileProviderItem` reduced to what
/// key sharing uses.
///
/// ```swift
/// let file = Item.file(identity, in: .authentication, under: .keySharing2025)
/// let folder = Item.folder(.authentication, created: identity.notBefore)
/// let request = try TypeRequest([folder.contentType], mechanism: .keySharing2025)
/// let decision = request.decide(file)
/// ```
public struct Item: Sendable, Hashable {
    /// The kinds of items.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A PKCS #12 file.
        case pkcs12
        /// A folder of PKCS #12 files.
        case folder
        /// A zip of PKCS #12 files.
        case zip
    }

    /// The identifier of the root container.
    public static let root = "root"

    /// The identifier, unique over all containers for as long as the provider holds the identity.
    public var identifier: String
    /// The name that a user sees, unique in one container only.
    public var filename: String
    /// The kind of the item.
    public var kind: Kind
    /// The uniform type of the item.
    public var contentType: String
    /// The identifier of the container that lists the item.
    public var parent: String
    /// The size in bytes; nil for a folder, for a file that was never made, and for an archive over the
    /// limits.
    public var size: Int?
    /// The creation date, which is the modification date too (docs/rules.md R3.15).
    public var created: Date

    /// Makes an item of a provider that names its items in its own way; see ``file(_:in:under:size:)`` for
    /// the usual one.
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
    /// The published file of an identity: the row that every list shows for it (docs/rules.md R2.9, R3.2,
    /// R3.12, R3.13, R3.15).
    ///
    /// - Parameters:
    ///   - selector: the 2025 folder that lists the file; nil for the root. Legacy has no folders.
    ///   - size: the size in bytes; nil where the file was never made.
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

    /// The 2025 folder of a selector.
    ///
    /// - Parameter created: the date of the newest identity in the folder (docs/rules.md R3.16).
    public static func folder(_ selector: Selector, created: Date) -> Item {
        Item(
            identifier: selector.folderName, filename: selector.folderName, kind: .folder,
            contentType: selector.selectType(.keySharing2025), parent: Item.root, size: nil, created: created)
    }

    /// The 2025 zip of a selector.
    ///
    /// - Parameters:
    ///   - size: the size in bytes; nil where the zip was never made.
    ///   - created: the time of asking (docs/rules.md R3.15).
    public static func zip(_ selector: Selector, size: Int? = nil, created: Date) -> Item {
        Item(
            identifier: selector.zipName, filename: selector.zipName, kind: .zip,
            contentType: selector.zipType(.keySharing2025), parent: Item.root, size: size, created: created)
    }

    /// Makes sure that the item has bytes: a folder has none (docs/rules.md R2.10).
    ///
    /// - Throws: `RequestError` `.isFolder`.
    public func requireContent() throws(RequestError) {
        guard kind.hasContent else { throw RequestError(.isFolder, filename) }
    }
}

extension Item.Kind {
    /// Whether an item of the kind has bytes that can be imported, exported or granted (docs/rules.md R2.10).
    public var hasContent: Bool { self != .folder }
}
