internal import OpenSSL
package import Foundation
package import KeySharing
internal import StandardExtensions

/// The rows that the legacy mechanism shows for a set of types (docs/rules.md R1.5): one row for each file, or one row
/// for an archive of all files.
package struct LegacyListing: Sendable {
    /// The selection of identities and the shape of the rows that the consumer's types request.
    package let request: LegacyRequest
    /// The rows that the user can choose from; empty if the types select no identity (docs/rules.md R4.9).
    package private(set) var rows: [Item]

    private let types: TypeRequest
    private let members: [IdentitySummary]

    /// Selects identities by the rules of docs/rules.md R4.
    ///
    /// - Parameters:
    ///   - identities: All identities of the provider, in any order.
    ///   - types: The types that the consumer requests.
    ///   - now: The date of the archive, if the only row is an archive.
    package init(_ identities: some Sequence<IdentitySummary>, request types: TypeRequest, now: Date) {
        self.init(SortedIdentities(identities, under: .legacy), request: types, now: now)
    }

    /// Selects identities that were already sorted for the legacy mechanism.
    init(_ sorted: SortedIdentities, request types: TypeRequest, now: Date) {
        self.types = types
        request = LegacyRequest(types: types.identifiers)
        members = sorted.members(of: request.selection)
        rows = request.shape == .files ? members.map { .file($0, under: .legacy) } : []
        date(now)
    }

    /// Sets the date of the archive. Has no effect if the rows are files.
    private mutating func date(_ now: Date) {
        guard request.shape == .archive, !members.isEmpty else { return }
        rows = [LegacyRequest.archive(for: types.identifiers, created: now)]
    }

    /// Returns the same listing with `now` as the date of its archive, if it has one.
    func dated(_ now: Date) -> LegacyListing {
        var later = self
        later.date(now)
        return later
    }

    /// Returns the identities that are exported if the user chooses a row; empty if no row has this identifier.
    package func identities(of row: String) -> [IdentitySummary] {
        request.shape == .archive
            ? (rows.first?.identifier.hasSameBytes(as: row) == true ? members : [])
            : members.filter { $0.label.hasSameBytes(as: row) }
    }

    /// Describes the file that is exported for a row: `tmp.p12` or `tmp.zip` (docs/rules.md R4.11), with a new
    /// identifier.
    ///
    /// - Parameters:
    ///   - row: The identifier of the chosen row.
    ///   - size: The file's size in bytes.
    ///   - random: The source of the identifier.
    package func export(of row: String, size: Int, using random: inout some RandomNumberGenerator) -> Item {
        let chosen = rows.first { $0.identifier == row }
        let name = request.shape == .archive ? LegacyRequest.archiveName : Self.fileName
        return Item(
            identifier: "\(UUID(using: &random).uuidString)/\(name)", filename: name,
            kind: request.shape == .archive ? .zip : .pkcs12,
            contentType: chosen?.contentType ?? Mechanism.legacy.plainType, parent: Item.root, size: size,
            created: chosen?.created ?? Date(timeIntervalSince1970: 0))
    }

    private static let fileName = "tmp.p12"
}
