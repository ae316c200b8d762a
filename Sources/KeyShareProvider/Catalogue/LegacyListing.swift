internal import OpenSSL
package import Foundation
package import KeySharing

/// The rows that the legacy mechanism shows to a consumer of certain types (docs/rules.md R1.5): a row for each file,
/// or one row for an archive of them all.
package struct LegacyListing: Sendable {
    /// What the consumer's types ask for.
    package let request: LegacyRequest
    /// What the user can choose from; empty where the types name no identity (docs/rules.md R4.9).
    package private(set) var rows: [Item]

    private let types: TypeRequest
    private let members: [IdentitySummary]

    /// Chooses identities by the rules of docs/rules.md R4.
    ///
    /// - Parameters:
    ///   - identities: every identity of the provider, in any order.
    ///   - types: what the consumer asks for.
    ///   - now: the date of an archive.
    package init(_ identities: some Sequence<IdentitySummary>, request types: TypeRequest, now: Date) {
        self.init(SortedIdentities(identities, under: .legacy), request: types, now: now)
    }

    /// Chooses among identities that are sorted under the legacy mechanism already.
    init(_ sorted: SortedIdentities, request types: TypeRequest, now: Date) {
        self.types = types
        request = LegacyRequest(types: types.identifiers)
        members = sorted.members(of: request.selection)
        rows = request.shape == .files ? members.map { .file($0, under: .legacy) } : []
        date(now)
    }

    /// Dates the archive, if there is one.
    private mutating func date(_ now: Date) {
        guard request.shape == .archive, !members.isEmpty else { return }
        rows = [LegacyRequest.archive(for: types.identifiers, created: now)]
    }

    /// The listing of a later moment, at which an archive would be made then and all else is as it was.
    func dated(_ now: Date) -> LegacyListing {
        var later = self
        later.date(now)
        return later
    }

    /// The identities that choosing a row hands over; empty for an identifier that is none of the rows'.
    package func identities(of row: String) -> [IdentitySummary] {
        request.shape == .archive
            ? (rows.first?.identifier.hasSameBytes(as: row) == true ? members : [])
            : members.filter { $0.label.hasSameBytes(as: row) }
    }

    /// Describes the file that choosing a row makes: `tmp.p12` or `tmp.zip` (docs/rules.md R4.11), under a new
    /// identifier.
    ///
    /// - Parameters:
    ///   - row: the identifier of the chosen row.
    ///   - size: the file's size in bytes.
    ///   - random: where the identifier comes from.
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
