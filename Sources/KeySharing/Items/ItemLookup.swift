/// Functions that find an item by what a user calls it: the identifier or the file name (docs/rules.md
/// R7.18).
///
/// A file name is looked for at the root first, then in the folders, and must be unique where it is found.
///
/// ```swift
/// let item = try ItemLookup.match("piv_048F.p12", in: items)
/// ```
public enum ItemLookup {
    /// The item that `name` names among `items`, by identifier or by file name; nil where none does.
    ///
    /// - Throws: `RequestError` `.ambiguousName` where several items have that file name.
    public static func match(_ name: String, in items: [Item]) throws(RequestError) -> Item? {
        if let exact = items.first(where: { $0.identifier == name }) { return exact }
        let matches = items.filter { $0.filename == name }
        guard matches.count < 2 else {
            throw RequestError(.ambiguousName, name, candidates: matches.map(\.identifier))
        }
        return matches.first
    }

    /// The item that `name` names among everything a provider lists: by identifier, else by file name at the
    /// root, else by file name in the folders (docs/rules.md R7.18).
    ///
    /// - Parameters:
    ///   - item: the item of an identifier; nil where the provider has none.
    ///   - items: the items of the container with the identifier given.
    /// - Throws: `RequestError`: `.noSuchItem`, `.ambiguousName`; what `item` and `items` throw.
    public static func find(
        _ name: String, item: (ItemIdentifier) async throws -> Item?,
        items: (_ container: String) async throws -> [Item]
    ) async throws -> Item {
        if let identifier = ItemIdentifier(name) {
            guard let found = try await item(identifier) else { throw RequestError(.noSuchItem, name) }
            return found
        }
        let root = try await items(Item.root)
        if let found = try match(name, in: root) { return found }
        var contents: [Item] = []
        for folder in root where folder.kind == .folder { contents += try await items(folder.identifier) }
        guard let found = try match(name, in: contents) else { throw RequestError(.noSuchItem, name) }
        return found
    }
}
