internal import Foundation
internal import KeySharing
internal import Synchronization

/// Caches the legacy listings of a provider until its identities change. Without the cache, a client that requests rows
/// in a loop would make the provider sort all identities each time, and delay other clients.
package final class LegacyListings: Sendable {
    private struct Known {
        let generation: Int64
        let sorted: SortedIdentities
        var listings: [[ExactText]: LegacyListing] = [:]
        /// The number of rows in all listings. Memory use is proportional to this number.
        var rows = 0
    }

    /// The maximum number of listings in the cache.
    package static let mostListings = 16
    /// The maximum number of rows in all cached listings.
    package static let mostRows = 65_536

    private let known = Mutex<Known?>(nil)

    /// Returns the legacy listing for the requested types, from the cache if possible.
    ///
    /// - Parameter now: The date of the listing's archive, if it has one.
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
        // A slow lookup must not replace a newer state with an older one.
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
