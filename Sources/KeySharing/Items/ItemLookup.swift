/// Finding an item by what a user calls it: its identifier, or its file name.
///
/// An identifier always works. A file name is looked for at the root first, then everywhere else; it must be
/// unique where it is found.
public enum ItemLookup {
    /// The one item of a container, or of several, that `name` names; nil where none does.
    ///
    /// - Throws: `ItemLookupError` `.ambiguousName` where several items have that file name.
    public static func match(_ name: String, in items: [Item]) throws(ItemLookupError) -> Item? {
        if let exact = items.first(where: { $0.identifier == name }) { return exact }
        let matches = items.filter { $0.filename == name }
        guard matches.count < 2 else {
            throw ItemLookupError(.ambiguousName, name, matches.map(\.identifier))
        }
        return matches.first
    }
}

/// Why a name names no one item; equal by code.
public struct ItemLookupError: Error, Equatable, Sendable {
    /// What is wrong with the name.
    public enum Code: String, Sendable, Hashable {
        case noSuchItem = "no-such-item"
        /// Several items have this file name.
        case ambiguousName = "ambiguous-name"
    }

    public let code: Code
    /// What was looked for.
    public let name: String
    /// The identifiers it could mean.
    public let candidates: [String]

    public init(_ code: Code, _ name: String, _ candidates: [String] = []) {
        self.code = code
        self.name = name
        self.candidates = candidates
    }

    public static func == (left: ItemLookupError, right: ItemLookupError) -> Bool {
        left.code == right.code
    }
}
