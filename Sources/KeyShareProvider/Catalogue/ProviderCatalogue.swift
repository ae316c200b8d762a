package import DeviceSimulation
internal import KeySharing
internal import Synchronization

/// The provider's identities, read once and again whenever the keychain has changed.
package final class ProviderCatalogue: Sendable {
    private let store: ProviderStore
    private let root: RootContents
    private let changeCount: @Sendable () throws(KeychainError) -> Int64
    private let cached = Mutex<(snapshot: CatalogueSnapshot, reading: IdentityReading)?>(nil)

    /// Reads nothing yet.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - root: which single files the root shows.
    ///   - watch: tells the keychain's change count without a query for each look; nil for a query.
    package init(_ store: ProviderStore, root: RootContents, watch: KeychainWatch? = nil) {
        self.store = store
        self.root = root
        changeCount = { () throws(KeychainError) in
            guard let watch else { return try store.changeCount() }
            return try watch.changeCount()
        }
    }

    /// The identities as they are in the keychain now, which other processes may have changed. Where some were added and
    /// nothing else has happened, only these are read.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read; `CertificateError` for an unreadable
    ///   certificate without a stored summary.
    package func snapshot() throws -> CatalogueSnapshot {
        // The count is taken before reading: a change in between is read now and once more at the next request.
        let generation = try changeCount()
        let known = cached.withLock { $0 }
        if let known, known.snapshot.generation == generation { return known.snapshot }
        let (identities, reading) = try store.identities(after: known?.reading)
        let fresh =
            if let known, reading.isContinuation {
                known.snapshot.adding(identities, generation: generation)
            } else {
                CatalogueSnapshot(generation: generation, identities: identities, root: root)
            }
        cached.withLock { $0 = (fresh, reading) }
        return fresh
    }
}
