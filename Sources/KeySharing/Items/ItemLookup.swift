/// Functions that find an item by what a user calls it, which is whatever a list prints: the identifier, the file name,
/// a path such as `Encryption/encryption_048F.p12`, or the start of a label or serial number (docs/rules.md R7.18,
/// R7.21).
///
/// A file name is looked for at the root first, then in the folders, and must be unique where it is found.
///
/// ```swift
/// let item = try ItemLookup.match("piv_048F.p12", in: items)
/// ```
public enum ItemLookup {
    /// The item that `name` names among `items`: by identifier, by file name, else by the start of its label or serial
    /// number; nil where none does.
    ///
    /// - Throws: `RequestError` `.ambiguousName` where several items have that file name or that start.
    public static func match(_ name: String, in items: [Item]) throws(RequestError) -> Item? {
        if let exact = items.first(where: { $0.identifier == name }) { return exact }
        let pattern = NamePattern(name)
        if let named = try only(items.filter { pattern.matches(filename: $0.filename) }, name) {
            return named
        }
        return try only(items.filter { $0.kind == .pkcs12 && pattern.starts($0) }, name, areStarts: true)
    }

    /// The item that `name` names among everything a provider lists: by identifier, by path, by the name of a folder
    /// or zip without regard to letter case, by file name at the root, else in the folders, or by the start of a label
    /// or serial number at the root, else in the folders (docs/rules.md R7.18, R7.21).
    ///
    /// - Parameters:
    ///   - name: an identifier or another name, as the user wrote it.
    ///   - item: the item of an identifier; nil where the provider has none.
    ///   - items: the items of the container with the identifier given.
    /// - Throws: `RequestError`: `.noSuchItem`, `.ambiguousName`; what `item` and `items` throw.
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

    /// Every item that `name` names among `items`, in their order: an identity has a file at the root and one in each
    /// folder that it belongs to, and each of them has the identity's name (docs/rules.md R7.21).
    ///
    /// - Throws: `RequestError` `.ambiguousName` where `name` is the start of the labels or serial numbers of several
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

    /// The identifier of the container that `name` names, which may be written with a slash behind it and in letters
    /// of either case; `name` itself where no container of key sharing has the name (docs/rules.md R7.21).
    public static func container(_ name: String) -> String {
        let bare = name.hasSuffix("/") ? String(name.dropLast()) : name
        if bare.lowercased() == Item.root { return Item.root }
        return Selector.allCases.first { $0.folderName.lowercased() == bare.lowercased() }?.folderName ?? bare
    }

    /// The container and the rest of a path such as `PIV/piv_048F.p12`, or of an identifier that is cut short, such as
    /// `PIV.2A14`; nil for other names.
    fileprivate static func path(_ name: String) -> (container: String, rest: String)? {
        if let slash = name.firstIndex(of: "/") {
            let rest = name[name.index(after: slash)...]
            return rest.isEmpty ? nil : (container(String(name[..<slash])), String(rest))
        }
        guard let dot = name.firstIndex(of: ".") else { return nil }
        let folder = container(String(name[..<dot]))
        let rest = String(name[name.index(after: dot)...])
        guard Selector(folderName: folder) != nil, NamePattern(rest).isHexadecimal else { return nil }
        return (folder, rest)
    }

    /// The one item of `matches`; nil where there is none.
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

/// Functions that find an identity of a keychain by what a user calls it: a label or serial number, down to the shortest
/// start that is unique, or the name or identifier of an item of it (docs/rules.md R7.21).
///
/// ```swift
/// let found = try IdentityLookup.find("048F", in: identities)
/// ```
public enum IdentityLookup {
    /// The identity that `name` names. A whole label or serial number is preferred to the start of a longer one.
    ///
    /// - Throws: `RequestError`: `.noSuchIdentity` where there is none, `.ambiguousLabel` with the labels of those that
    ///   there are where there are several.
    public static func find(_ name: String, in identities: [IdentitySummary]) throws(RequestError)
        -> IdentitySummary
    {
        // A path or an item's identifier names the identity by its last part.
        let pattern = NamePattern(ItemLookup.path(name)?.rest ?? name)
        let exact = identities.filter { identity in
            pattern.names(identity.label) || pattern.names(identity.serialNumber)
                || Mechanism.allCases.contains { pattern.matches(filename: identity.filename($0)) }
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

/// A name as a user writes it or copies it from a table, where an ellipsis stands for what was left out.
struct NamePattern {
    /// What stands before the ellipsis, or the whole name.
    private let head: String
    /// What stands behind the ellipsis; nil for a name without one.
    private let tail: String?

    init(_ text: String) {
        let parts = text.split(separator: "\u{2026}", maxSplits: 1, omittingEmptySubsequences: false)
        head = String(parts[0])
        tail = parts.count > 1 ? String(parts[1]) : nil
    }

    /// Whether the text before the ellipsis is of hexadecimal digits, at least one, and nothing is behind it.
    var isHexadecimal: Bool { !head.isEmpty && head.allSatisfy(\.isHexDigit) && tail?.isEmpty != false }

    /// Whether a file of this name is meant, without regard to letter case.
    func matches(filename: String) -> Bool {
        let (name, head) = (filename.lowercased(), head.lowercased())
        guard let tail else { return name == head }
        // An ellipsis alone, or behind digits, names no file.
        guard head.contains("_") else { return false }
        return name.hasPrefix(head) && name.hasSuffix(tail.lowercased())
            && name.count >= head.count + tail.count
    }

    /// Whether a label or serial number starts so.
    func starts(_ digits: String) -> Bool { isHexadecimal && digits.hasPrefix(head.uppercased()) }

    /// Whether this is the whole of a label or serial number.
    func names(_ digits: String) -> Bool { isHexadecimal && digits == head.uppercased() }

    /// Whether the item's label or serial number starts so.
    func starts(_ item: Item) -> Bool {
        guard isHexadecimal else { return false }
        let serial = item.filename.split(separator: "_", maxSplits: 1).dropFirst().first
        return starts(item.label ?? item.identifier) || serial.map { starts(String($0)) } == true
    }
}

extension ItemIdentifier {
    /// The folder or zip of this name, which may be written in letters of either case, the folder's with a slash behind
    /// it (docs/rules.md R7.21); nil for other names.
    init?(container name: String) {
        if let selector = Selector(folderName: ItemLookup.container(name)) {
            self = .folder(selector)
        } else if let selector = Selector.allCases.first(where: {
            $0.zipName.lowercased() == name.lowercased()
        }) {
            self = .zip(selector)
        } else {
            return nil
        }
    }

    /// The label of the identity whose file the item is; nil for folders and zips.
    var label: String? {
        switch self {
        case .identity(let label), .member(_, let label): label
        case .folder, .zip: nil
        }
    }
}
