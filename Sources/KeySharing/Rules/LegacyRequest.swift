public import struct Foundation.Date

/// What a legacy consumer's types ask for: single files, or one archive, and of which identities.
public struct LegacyRequest: Sendable, Hashable {
    /// The shape of the answer.
    public enum Shape: Sendable, Hashable {
        /// A row for each identity.
        case files
        /// One row, an archive of all of them.
        case archive
    }

    public let shape: Shape
    public let selection: Selection

    /// Reads a consumer's types; those that name nothing for a legacy provider are passed over.
    ///
    /// Any zip type turns the answer into one archive, chosen by the zip types alone. `no-filter` of either
    /// family lifts "most recent" from what the other types of the chosen family name.
    public init(types: some Collection<String>) {
        let requested = Set(types)
        let zips = Selector.allCases.filter { requested.contains($0.zipType(.legacy)) }
        let selects = Selector.allCases.filter { requested.contains($0.selectType(.legacy)) }
        shape = zips.isEmpty ? .files : .archive
        var selection = Selection()
        for selector in zips.isEmpty ? selects : zips {
            selection.formUnion(selector.selection(.legacy))
        }
        if shape == .files, requested.contains(Mechanism.legacy.plainType) {
            selection.formUnion(Selector.all.selection(.legacy))
        }
        if (zips + selects).contains(.noFilter) { selection.liftMostRecent() }
        self.selection = selection
    }

    /// The name of the archive that stands for a list of that shape.
    public static let archiveName = "tmp.zip"

    /// The one row that a request of the shape `archive` is answered by.
    ///
    /// - Parameter types: what the consumer asked for, in its order.
    public static func archive(for types: [String], created: Date) -> Item {
        let zipTypes = Selector.allCases.map { $0.zipType(.legacy) }
        return Item(
            identifier: archiveName, filename: archiveName, kind: .zip,
            contentType: types.first(where: zipTypes.contains) ?? SystemType.zipArchive,
            parent: Item.root, size: nil, created: created)
    }
}
