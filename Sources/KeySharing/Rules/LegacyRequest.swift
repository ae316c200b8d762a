public import struct Foundation.Date

/// The answer that a legacy consumer asks for by types: single files or one archive, and of which identities.
///
/// ```swift
/// let request = LegacyRequest(types: ["purebred.select.signature", "purebred.select.no-filter"])
/// let shape = request.shape  // .files
/// let extent = request.selection.extents[.signature]  // .everyOne, lifted by no-filter
/// ```
public struct LegacyRequest: Sendable, Hashable {
    /// The shapes of an answer.
    public enum Shape: Sendable, Hashable {
        /// A row for each identity.
        case files
        /// One row, an archive of all identities selected.
        case archive
    }

    /// The shape of the answer.
    public let shape: Shape
    /// The identities that the types name.
    public let selection: Selection

    /// Reads the types of a consumer (docs/rules.md R4.1 to R4.8). Types that name nothing for a legacy
    /// provider are passed over.
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

    /// The name and identifier of the archive that answers a request of the shape `archive` (docs/rules.md
    /// R4.11).
    public static let archiveName = "tmp.zip"

    /// The one row that answers a request of the shape `archive` (docs/rules.md R4.6).
    ///
    /// - Parameters:
    ///   - types: the types that the consumer asked for, in its order; the first zip type is the archive's.
    ///   - created: the date of the archive.
    public static func archive(for types: [String], created: Date) -> Item {
        let zipTypes = Selector.allCases.map { $0.zipType(.legacy) }
        return Item(
            identifier: archiveName, filename: archiveName, kind: .zip,
            contentType: types.first(where: zipTypes.contains) ?? SystemType.zipArchive,
            parent: Item.root, size: nil, created: created)
    }
}
