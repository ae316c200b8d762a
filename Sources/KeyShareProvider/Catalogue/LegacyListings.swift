internal import Foundation
internal import KeySharing
internal import Synchronization

/// The legacy listings of a provider, which are kept until its identities change. Sorting all identities for each request
/// would let a peer that asks for rows without end keep others waiting.
package final class LegacyListings: Sendable {
    private struct Known {
        let generation: Int64
        let sorted: SortedIdentities
        var listings: [[ExactText]: LegacyListing] = [:]
        /// The rows of all listings, which are what takes memory.
        var rows = 0
    }

    /// The most listings that are kept.
    package static let mostListings = 16
    /// The most rows in the listings that are kept.
    package static let mostRows = 65_536

    private let known = Mutex<Known?>(nil)

    /// The rows for a consumer of these types.
    ///
    /// - Parameter now: the date of an archive.
    func listing(of types: TypeRequest, in snapshot: CatalogueSnapshot, now: Date) -> LegacyListing {
        let key = types.identifiers.map { ExactText($0) }
        let (sorted, kept) = known.withLock { known in
            known?.generation == snapshot.generation ? (known?.sorted, known?.listings[key]) : (nil, nil)
        }
        if let kept { return kept.dated(now) }
        let all = sorted ?? SortedIdentities(snapshot.identities, under: .legacy)
        let listing = LegacyListing(all, request: types, now: now)
        known.withLock { keep(listing, key, all, snapshot.generation, in: &$0) }
        return listing
    }

    private func keep(
        _ listing: LegacyListing, _ key: [ExactText], _ sorted: SortedIdentities, _ generation: Int64,
        in known: inout Known?
    ) {
        var next = known ?? Known(generation: generation, sorted: sorted)
        // A look-up that took longer than another one does not put an earlier state back.
        guard next.generation <= generation else { return }
        let rows = listing.rows.count
        if next.generation < generation || next.listings.count >= Self.mostListings
            || next.rows + rows > Self.mostRows
        {
            next = Known(generation: generation, sorted: sorted)
        }
        if rows <= Self.mostRows, next.listings.updateValue(listing, forKey: key) == nil { next.rows += rows }
        known = next
    }
}
