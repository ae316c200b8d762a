#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A legacy consumer's request: the form of the provider's answer, single files or one archive, and the identities in
/// the answer.
///
/// ```swift
/// let request = LegacyRequest(types: ["purebred.select.signature", "purebred.select.no-filter"])
/// let shape = request.shape  // .files
/// let extent = request.selection.extents[.signature]  // .everyOne, lifted by no-filter
/// ```
public struct LegacyRequest: Sendable, Hashable {
    /// The forms of an answer.
    public enum Shape: Sendable, Hashable {
        /// One row for each identity.
        case files
        /// One row: an archive of all selected identities.
        case archive
    }

    /// The form of the answer.
    public let shape: Shape
    /// The identities that the types select.
    public let selection: Selection

    /// Interprets a consumer's types (docs/rules.md R4.1 to R4.8). Types that mean nothing to a legacy provider are
    /// ignored.
    ///
    /// Any zip type turns the answer into one archive, and then only the zip types select its contents. `no-filter`
    /// selects every generation, not only the most recent, of the types that the other selectors of its family name.
    public init(types: some Collection<String>) {
        let requested = Set(types)
        let zips = IdentitySelector.allCases.filter { requested.contains($0.zipType(under: .legacy)) }
        let selects = IdentitySelector.allCases.filter { requested.contains($0.selectType(under: .legacy)) }
        shape = zips.isEmpty ? .files : .archive
        var selection = Selection()
        for selector in zips.isEmpty ? selects : zips {
            selection.formUnion(selector.selection(under: .legacy))
        }
        if shape == .files, requested.contains(Mechanism.legacy.plainType) {
            selection.formUnion(IdentitySelector.all.selection(under: .legacy))
        }
        if (zips + selects).contains(.noFilter) { selection.liftMostRecent() }
        self.selection = selection
    }

    /// The name and identifier of the archive in an answer of the form `archive` (docs/rules.md R4.11).
    public static let archiveName = "tmp.zip"

    /// Returns the only row of an answer of the form `archive` (docs/rules.md R4.6).
    ///
    /// - Parameters:
    ///   - types: The consumer's types in the order of the request. The first zip type becomes the archive's type.
    ///   - created: The date of the archive.
    public static func archive(for types: [String], created: Date) -> Item {
        let zipTypes = IdentitySelector.allCases.map { $0.zipType(under: .legacy) }
        return Item(
            identifier: archiveName, filename: archiveName, kind: .zip,
            contentType: types.first(where: zipTypes.contains) ?? SystemType.zipArchive,
            parent: Item.root, size: nil, created: created)
    }
}
