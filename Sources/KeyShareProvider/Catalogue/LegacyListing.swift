internal import OpenSSL
package import Foundation
package import KeySharing

/// The rows that the legacy mechanism shows to a consumer of certain types (docs/rules.md R1.5): a row for each file,
/// or one row for an archive of them all.
package struct LegacyListing: Sendable {
    /// What the consumer's types ask for.
    package let request: LegacyRequest
    /// What the user can choose from; empty where the types name no identity (docs/rules.md R4.9).
    package let rows: [Item]

    private let members: [IdentitySummary]

    /// Chooses identities by the rules of docs/rules.md R4.
    ///
    /// - Parameters:
    ///   - identities: every identity of the provider, in any order.
    ///   - types: what the consumer asks for.
    ///   - now: the date of an archive.
    package init(_ identities: some Sequence<IdentitySummary>, request types: TypeRequest, now: Date) {
        request = LegacyRequest(types: types.identifiers)
        members = SortedIdentities(identities, under: .legacy).members(of: request.selection)
        switch request.shape {
        case .files:
            rows = members.map { .file($0, under: .legacy) }
        case .archive where members.isEmpty:
            rows = []
        case .archive:
            rows = [LegacyRequest.archive(for: types.identifiers, created: now)]
        }
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
