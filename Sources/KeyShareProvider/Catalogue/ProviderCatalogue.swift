package import DeviceSimulation
internal import KeySharing
internal import SimulatedKeychain
internal import Synchronization

/// The provider's identities, cached until the keychain changes.
package final class ProviderCatalogue: Sendable {
    private let store: ProviderStore
    private let root: RootContents
    private let changeCount: @Sendable () throws(KeychainError) -> Int64
    private let cached = Mutex<(snapshot: CatalogueSnapshot, reading: IdentityReading)?>(nil)

    /// Creates a catalogue. Reads nothing yet.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - root: The single files that the root shows.
    ///   - watch: Returns the keychain's change count without a query each time; nil to query the keychain.
    package init(_ store: ProviderStore, root: RootContents, watch: KeychainWatch? = nil) {
        self.store = store
        self.root = root
        changeCount = { () throws(KeychainError) in
            guard let watch else { return try store.changeCount() }
            return try watch.changeCount()
        }
    }

    /// Returns the current identities in the keychain, which other processes may have changed. If identities were only
    /// added since the last call, only the new ones are read.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read; `CertificateError` for an unreadable certificate
    ///   without a stored summary.
    package func snapshot() throws -> CatalogueSnapshot {
        // Read the count first. A change between the two reads is then included now, and read again at the next
        // request.
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
