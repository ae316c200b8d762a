/// Finds an item by any name that a list prints: the identifier, the file name, a path such as
/// `Encryption/encryption_048F.p12`, or a prefix of a label or serial number (docs/rules.md R7.18, R7.21).
///
/// File names are matched at the root first, then in the folders, and must be unique at the level where they match.
///
/// ```swift
/// let item = try ItemLookup.match("piv_048F.p12", in: items)
/// ```
public enum ItemLookup {
    /// Returns the item with this name among `items`: by identifier, then by file name, then by a prefix of its label
    /// or serial number. Returns nil if no item matches.
    ///
    /// - Throws: `RequestError` `.ambiguousName` if several items match the file name or the prefix.
    public static func match(_ name: String, in items: [Item]) throws(RequestError) -> Item? {
        if let exact = items.first(where: { $0.identifier == name }) { return exact }
        let pattern = NamePattern(name)
        if let named = try only(items.filter { pattern.matches(filename: $0.filename) }, name) {
            return named
        }
        return try only(items.filter { $0.kind == .pkcs12 && pattern.starts($0) }, name, areStarts: true)
    }

    /// Returns the item with this name among all items of a provider (docs/rules.md R7.18, R7.21). The name is matched
    /// in this order:
    ///
    /// 1. as an identifier, or as the name of a folder or zip, ignoring case
    /// 2. as a path
    /// 3. as a file name at the root, then in the folders
    /// 4. as a prefix of a label or serial number at the root, then in the folders
    ///
    /// - Parameters:
    ///   - name: An identifier or another name, as entered by the user.
    ///   - item: Returns the item with the given identifier, or nil if the provider has no such item.
    ///   - items: Returns the items of the given container.
    /// - Throws: `RequestError`: `.noSuchItem`, `.ambiguousName`; any error that `item` or `items` throws.
    public static func find(
        _ name: String, item: (ItemIdentifier) async throws -> Item?,
        items: (_ container: String) async throws -> [Item]
    ) async throws -> Item {
        if let identifier = ItemIdentifier(name) ?? ItemIdentifier(container: name) {
            guard let found = try await item(identifier) else { throw RequestError(.noSuchItem, name) }
            return found
        }
        if let (container, rest) = path(name) {
            guard let found = try match(rest, in: try await items(container)) else {
                throw RequestError(.noSuchItem, name)
            }
            return found
        }
        let root = try await items(Item.root)
        let pattern = NamePattern(name)
        if let found = try only(root.filter { pattern.matches(filename: $0.filename) }, name) { return found }
        var contents: [Item] = []
        for folder in root where folder.kind == .folder { contents += try await items(folder.identifier) }
        if let found = try only(contents.filter { pattern.matches(filename: $0.filename) }, name) {
            return found
        }
        for items in [root, contents] {
            let starts = items.filter { $0.kind == .pkcs12 && pattern.starts($0) }
            if let found = try only(starts, name, areStarts: true) { return found }
        }
        throw RequestError(.noSuchItem, name)
    }

    /// Returns every item with this name among `items`, in the order of `items`. An identity has a file at the root and
    /// in each folder that it belongs to, and the identity's name matches all of them (docs/rules.md R7.21).
    ///
    /// - Throws: `RequestError` `.ambiguousName` if `name` is a prefix of the labels or serial numbers of several
    ///   identities.
    public static func all(_ name: String, in items: [Item]) throws(RequestError) -> [Item] {
        if let identifier = ItemIdentifier(name) ?? ItemIdentifier(container: name) {
            let text = identifier.description
            return items.filter { $0.identifier == text }
        }
        if let (container, rest) = path(name) {
            return try match(rest, in: items.filter { $0.parent == container }).map { [$0] } ?? []
        }
        let pattern = NamePattern(name)
        let named = items.filter { pattern.matches(filename: $0.filename) }
        guard named.isEmpty else { return named }
        let starts = items.filter { $0.kind == .pkcs12 && pattern.starts($0) }
        let labels = starts.reduce(into: [String]()) { labels, item in
            let label = item.label ?? item.identifier
            if !labels.contains(label) { labels.append(label) }
        }
        guard labels.count < 2 else { throw ambiguousStart(name, labels) }
        return starts
    }

    /// Returns the identifier of the container with this name, ignoring case and a trailing slash. If key sharing has
    /// no such container, returns `name` without the slash (docs/rules.md R7.21).
    public static func container(_ name: String) -> String {
        let bare = name.hasSuffix("/") ? String(name.dropLast()) : name
        if bare.lowercased() == Item.root { return Item.root }
        return IdentitySelector.allCases.first { $0.folderName.lowercased() == bare.lowercased() }?.folderName
            ?? bare
    }

    /// Splits a path such as `PIV/piv_048F.p12`, or an abbreviated identifier such as `PIV.2A14`, into the container
    /// and the rest. Returns nil for other names.
    fileprivate static func path(_ name: String) -> (container: String, rest: String)? {
        if let slash = name.firstIndex(of: "/") {
            let rest = name[name.index(after: slash)...]
            return rest.isEmpty ? nil : (container(String(name[..<slash])), String(rest))
        }
        guard let dot = name.firstIndex(of: ".") else { return nil }
        let folder = container(String(name[..<dot]))
        let rest = String(name[name.index(after: dot)...])
        guard IdentitySelector(folderName: folder) != nil, NamePattern(rest).isHexadecimal else { return nil }
        return (folder, rest)
    }

    /// Returns the only match, or nil if there is no match.
    private static func only(
        _ matches: [Item], _ name: String, areStarts: Bool = false
    ) throws(RequestError) -> Item? {
        guard matches.count > 1 else { return matches.first }
        let candidates = matches.map(\.identifier)
        throw areStarts
            ? ambiguousStart(name, candidates) : RequestError(.ambiguousName, name, candidates: candidates)
    }

    private static func ambiguousStart(_ name: String, _ candidates: [String]) -> RequestError {
        RequestError(
            .ambiguousName, name,
            detail:
                "\(candidates.count) items have a label or serial number that starts with \u{201C}\(name)\u{201D}",
            candidates: candidates)
    }
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

/// Finds an identity of a keychain by its label or serial number, by a unique prefix of either, or by the name or
/// identifier of one of its items (docs/rules.md R7.21).
///
/// ```swift
/// let found = try IdentityLookup.find("048F", in: identities)
/// ```
public enum IdentityLookup {
    /// Returns the identity with this name. A complete label or serial number takes precedence over a prefix of a
    /// longer one.
    ///
    /// - Throws: `RequestError`: `.noSuchIdentity` if no identity matches; `.ambiguousLabel`, with the labels of the
    ///   matches, if several do.
    public static func find(_ name: String, in identities: [IdentitySummary]) throws(RequestError)
        -> IdentitySummary
    {
        // In a path or an item's identifier, only the last part names the identity.
        let pattern = NamePattern(ItemLookup.path(name)?.rest ?? name)
        let exact = identities.filter { identity in
            pattern.names(identity.label) || pattern.names(identity.serialNumber)
                || Mechanism.allCases.contains { pattern.matches(filename: identity.filename(under: $0)) }
        }
        let matches =
            exact.isEmpty
            ? identities.filter { pattern.starts($0.label) || pattern.starts($0.serialNumber) } : exact
        guard let match = matches.first else { throw RequestError(.noSuchIdentity, name) }
        guard matches.count == 1 else {
            throw RequestError(.ambiguousLabel, name, candidates: matches.map(\.label))
        }
        return match
    }
}

/// A name as a user types it or copies it from a table, in which an ellipsis replaces the omitted part.
struct NamePattern {
    /// The text before the ellipsis, or the whole name.
    private let head: String
    /// The text after the ellipsis; nil if the name has no ellipsis.
    private let tail: String?

    init(_ text: String) {
        let parts = text.split(separator: "\u{2026}", maxSplits: 1, omittingEmptySubsequences: false)
        head = String(parts[0])
        tail = parts.count > 1 ? String(parts[1]) : nil
    }

    /// Whether the name consists of at least one hexadecimal digit, optionally followed by an ellipsis.
    var isHexadecimal: Bool { !head.isEmpty && head.allSatisfy(\.isHexDigit) && tail?.isEmpty != false }

    /// Whether the name matches this file name, ignoring case.
    func matches(filename: String) -> Bool {
        let (name, head) = (filename.lowercased(), head.lowercased())
        guard let tail else { return name == head }
        // An ellipsis by itself or after digits does not name a file.
        guard head.contains("_") else { return false }
        return name.hasPrefix(head) && name.hasSuffix(tail.lowercased())
            && name.count >= head.count + tail.count
    }

    /// Whether the name is a prefix of this label or serial number.
    func starts(_ digits: String) -> Bool { isHexadecimal && digits.hasPrefix(head.uppercased()) }

    /// Whether the name is this complete label or serial number.
    func names(_ digits: String) -> Bool { isHexadecimal && digits == head.uppercased() }

    /// Whether the name is a prefix of the item's label or serial number.
    func starts(_ item: Item) -> Bool {
        guard isHexadecimal else { return false }
        let serial = item.filename.split(separator: "_", maxSplits: 1).dropFirst().first
        return starts(item.label ?? item.identifier) || serial.map { starts(String($0)) } == true
    }
}
