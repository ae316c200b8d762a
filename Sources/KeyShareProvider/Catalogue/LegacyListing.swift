internal import OpenSSL
package import Foundation
package import KeySharing

/// The rows that a legacy provider shows to a consumer of certain types: files, or one archive of them all.
package struct LegacyListing: Sendable {
    package let request: LegacyRequest
    /// What the user sees; empty where the types name nothing.
    package let rows: [Item]

    private let members: [IdentitySummary]

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

    /// What choosing a row hands over; empty for a row that is not there.
    package func identities(of row: String) -> [IdentitySummary] {
        request.shape == .archive
            ? (row == rows.first?.identifier ? members : []) : members.filter { $0.label == row }
    }

    /// The file that a choice makes: `tmp.p12` or `tmp.zip`, under an identifier of its own.
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
