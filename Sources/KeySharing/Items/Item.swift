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
    ///   - identity: the identity in the file.
    ///   - selector: the 2025 folder that lists the file; nil for the root. Legacy has no folders.
    ///   - mechanism: the mechanism that determines the file's name and type.
    ///   - size: the size in bytes; nil if the file has not been exported yet.
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
    ///   - selector: the selector.
    ///   - created: the date of the newest identity in the folder (docs/rules.md R3.16).
    public static func folder(_ selector: IdentitySelector, created: Date) -> Item {
        Item(
            identifier: selector.folderName, filename: selector.folderName, kind: .folder,
            contentType: selector.selectType(under: .keySharing2025), parent: Item.root, size: nil,
            created: created)
    }

    /// Returns the item for the 2025 zip of a selector.
    ///
    /// - Parameters:
    ///   - selector: the selector.
    ///   - size: the size in bytes; nil if the zip has not been exported yet.
    ///   - created: the time of the request (docs/rules.md R3.15).
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

/// The parsed identifier of an item of the 2025 mechanism (docs/rules.md R3.12).
///
/// ```swift
/// let identifier = ItemIdentifier("Encryption.zip")  // .zip(.encryption)
/// let text = ItemIdentifier.folder(.authentication).description  // "PIV"
/// ```
public enum ItemIdentifier: Sendable, Hashable {
    /// The file of an identity at the root. The text is the label.
    case identity(label: String)
    /// The file of an identity in a selector's folder. The text is `<Folder>.<label>`.
    case member(IdentitySelector, label: String)
    /// The folder of a selector. The text is the folder's name.
    case folder(IdentitySelector)
    /// The zip of a selector. The text is `<Folder>.zip`.
    case zip(IdentitySelector)

    /// Parses an identifier; nil if no item can have it.
    public init?(_ text: String) {
        if let selector = IdentitySelector(folderName: text) {
            self = .folder(selector)
        } else if let selector = IdentitySelector(zipName: text) {
            self = .zip(selector)
        } else if let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) {
            guard let selector = IdentitySelector(folderName: String(text[..<dot])),
                let label = Self.label(text[text.utf8.index(after: dot)...])
            else { return nil }
            self = .member(selector, label: label)
        } else {
            guard let label = Self.label(text[...]) else { return nil }
            self = .identity(label: label)
        }
    }

    /// Creates the identifier of an identity's file in the folder of `selector`, or at the root if `selector` is nil.
    public init(label: String, in selector: IdentitySelector?) {
        self = selector.map { .member($0, label: label) } ?? .identity(label: label)
    }

    /// Returns the text if it is a label, a SHA-256 in upper-case hexadecimal (docs/rules.md R3.11); otherwise nil.
    private static func label(_ text: Substring) -> String? {
        let isLabel =
            text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) }
        return isLabel ? String(text) : nil
    }
}

extension ItemIdentifier: CustomStringConvertible {
    /// The identifier as text, as in the protocol.
    public var description: String {
        switch self {
        case .identity(let label): label
        case .member(let selector, let label): "\(selector.folderName).\(label)"
        case .folder(let selector): selector.folderName
        case .zip(let selector): selector.zipName
        }
    }
}

extension ItemIdentifier {
    /// Creates the identifier of the folder or zip with this name, ignoring case; nil if there is none. A folder's name
    /// may end with a slash (docs/rules.md R7.21).
    init?(container name: String) {
        if let selector = IdentitySelector(folderName: ItemLookup.container(name)) {
            self = .folder(selector)
        } else if let selector = IdentitySelector.allCases.first(where: {
            $0.zipName.lowercased() == name.lowercased()
        }) {
            self = .zip(selector)
        } else {
            return nil
        }
    }

    /// The label of the identity in the file; nil for folders and zips.
    var label: String? {
        switch self {
        case .identity(let label), .member(_, let label): label
        case .folder, .zip: nil
        }
    }
}
