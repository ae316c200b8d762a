internal import KeySharing
internal import Synchronization

/// The provider's identities as they are now: read once, and again when the keychain has changed.
package final class Catalogue: Sendable {
    private let store: ProviderStore
    private let root: RootContents
    private let cached = Mutex<CatalogueSnapshot?>(nil)

    package init(_ store: ProviderStore, root: RootContents) {
        self.store = store
        self.root = root
    }

    /// The state of the keychain, which other processes may have changed.
    ///
    /// - Throws: `KeychainError` where it cannot be read.
    package func snapshot() throws -> CatalogueSnapshot {
        // Counted before reading: what changes in between is read now and once more next time, never missed.
        let generation = try store.changeCount()
        if let known = cached.withLock({ $0 }), known.generation == generation { return known }
        let fresh = CatalogueSnapshot(generation: generation, identities: try store.identities(), root: root)
        cached.withLock { $0 = fresh }
        return fresh
    }
}
