#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An item that a provider publishes, as a document picker sees it: the parts of an `NSFileProviderItem` that key
/// sharing uses.
///
/// ```swift
/// let file = Item.file(identity, in: .authentication, under: .keySharing2025)
/// let folder = Item.folder(.authentication, created: identity.notBefore)
/// let request = try TypeRequest([folder.contentType], under: .keySharing2025)
/// let decision = request.keySharing2025Decision(for: file)
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

    /// The identifier, which is unique across all containers for as long as the provider has the identity.
    public var identifier: String
    /// The name that a user sees, which is unique only within its container.
    public var filename: String
    /// The kind of the item.
    public var kind: Kind
    /// The uniform type of the item.
    public var contentType: String
    /// The identifier of the container that lists the item.
    public var parent: String
    /// The size in bytes. Nil for a folder, a file that has not been exported yet, or an archive that exceeds the
    /// limits.
    public var size: Int?
    /// The creation date, which is also the modification date (docs/rules.md R3.15).
    public var created: Date

    /// Creates an item with arbitrary names. ``file(_:in:under:size:)`` creates one with the usual names.
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
    /// Returns the item for an identity's file, as every list shows it (docs/rules.md R2.9, R3.2, R3.12, R3.13, R3.15).
    ///
    /// - Parameters:
    ///   - identity: The identity in the file.
    ///   - selector: The 2025 folder that lists the file; nil for the root. Legacy has no folders.
    ///   - mechanism: The mechanism that determines the file's name and type.
    ///   - size: The size in bytes; nil if the file has not been exported yet.
    public static func file(
        _ identity: IdentitySummary, in selector: IdentitySelector? = nil, under mechanism: Mechanism,
        size: Int? = nil
    ) -> Item {
        Item(
            identifier: ItemIdentifier(label: identity.label, in: selector).description,
            filename: identity.filename(under: mechanism), kind: .pkcs12,
            contentType: selector?.companionType ?? mechanism.plainType,
            parent: selector?.folderName ?? Item.root, size: size, created: identity.notBefore)
    }

    /// Returns the item for the 2025 folder of a selector.
    ///
    /// - Parameters:
    ///   - selector: The selector.
    ///   - created: The date of the newest identity in the folder (docs/rules.md R3.16).
    public static func folder(_ selector: IdentitySelector, created: Date) -> Item {
        Item(
            identifier: selector.folderName, filename: selector.folderName, kind: .folder,
            contentType: selector.selectType(under: .keySharing2025), parent: Item.root, size: nil,
            created: created)
    }

    /// Returns the item for the 2025 zip of a selector.
    ///
    /// - Parameters:
    ///   - selector: The selector.
    ///   - size: The size in bytes; nil if the zip has not been exported yet.
    ///   - created: The time of the request (docs/rules.md R3.15).
    public static func zip(_ selector: IdentitySelector, size: Int? = nil, created: Date) -> Item {
        Item(
            identifier: selector.zipName, filename: selector.zipName, kind: .zip,
            contentType: selector.zipType(under: .keySharing2025), parent: Item.root, size: size,
            created: created)
    }

    /// Checks that the item has content (docs/rules.md R2.10).
    ///
    /// - Throws: `RequestError` `.isFolder` for a folder, which has no content.
    public func requireContent() throws(RequestError) {
        guard kind.hasContent else { throw RequestError(.isFolder, filename) }
    }
}

extension Item {
    /// The label of the identity in the file. Nil for folders, zips, and items of providers with other naming schemes
    /// (docs/rules.md R3.12).
    public var label: String? {
        ItemIdentifier(identifier)?.label
    }
}

extension Item.Kind {
    /// Whether items of the kind have content that can be imported, exported or granted (docs/rules.md R2.10).
    public var hasContent: Bool { self != .folder }
}
