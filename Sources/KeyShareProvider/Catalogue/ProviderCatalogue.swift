internal import KeySharing
internal import Synchronization

/// The provider's identities, read once and again whenever the keychain has changed.
package final class ProviderCatalogue: Sendable {
    private let store: ProviderStore
    private let root: RootContents
    private let cached = Mutex<CatalogueSnapshot?>(nil)

    /// Reads nothing yet.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - root: which single files the root shows.
    package init(_ store: ProviderStore, root: RootContents) {
        self.store = store
        self.root = root
    }

    /// The identities as they are in the keychain now, which other processes may have changed.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read; `CertificateError` for an unreadable
    ///   certificate without a stored summary.
    package func snapshot() throws -> CatalogueSnapshot {
        // The count is taken before reading: a change in between is read now and once more at the next request.
        let generation = try store.changeCount()
        if let known = cached.withLock({ $0 }), known.generation == generation { return known }
        let fresh = CatalogueSnapshot(generation: generation, identities: try store.identities(), root: root)
        cached.withLock { $0 = fresh }
        return fresh
    }
}
