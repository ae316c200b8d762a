internal import DeviceSimulation
internal import OpenSSL
internal import PersistentToken
internal import SimulatedKeychain
private import Synchronization

/// Caches the registrations, and reads them again after the keychain has changed.
final class TokenCatalogue: Sendable {
    /// The registrations as they were read at one moment.
    struct Snapshot: Sendable {
        /// The keychain's change count when the registrations were read.
        let changeCount: Int64
        /// The registrations, in the order in which they were created.
        let registrations: [TokenRegistration]
        private let places: [String: Int]

        fileprivate init(changeCount: Int64, registrations: [TokenRegistration]) {
            self.changeCount = changeCount
            self.registrations = registrations
            places = Dictionary(
                registrations.enumerated().map { ($1.label, $0) }, uniquingKeysWith: { first, _ in first })
        }

        /// The registration with this label; nil if it does not exist.
        subscript(label: String) -> TokenRegistration? { places[label].map { registrations[$0] } }

        /// Returns the registration that follows the one with `label`, or the first one if `label` is the last. Returns
        /// nil if no registration has `label`.
        func next(after label: String) -> TokenRegistration? {
            places[label].map { registrations[($0 + 1) % registrations.count] }
        }
    }

    private let store: TokenStore
    private let watch: KeychainWatch
    private let known = Mutex<Snapshot?>(nil)
    private let knownObjects = Mutex<TokenObjectList?>(nil)

    init(_ store: TokenStore, _ turn: WatchSnapshot) {
        self.store = store
        watch = store.watch(turn)
    }

    /// Returns a number that grows whenever any process registers or removes a token, or a key is deleted.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    func changeCount() throws(KeychainError) -> Int64 { try watch.changeCount() }

    /// Returns the current registrations.
    ///
    /// - Throws: `KeychainError`; `CertificateError` if OpenSSL rejects a certificate.
    func snapshot() throws -> Snapshot {
        let changeCount = try changeCount()
        if let known = fresh(changeCount) { return known }
        let snapshot = Snapshot(changeCount: changeCount, registrations: try store.registrations())
        // If the keychain changes between the two reads, its count no longer matches, and the next call reads again.
        known.withLock { $0 = snapshot }
        return snapshot
    }

    /// Returns the PKCS #11 objects of the registrations.
    ///
    /// - Throws: `KeychainError`; `CertificateError` if OpenSSL rejects a certificate.
    func objects() throws -> TokenObjectList {
        let snapshot = try snapshot()
        let known = knownObjects.withLock { $0?.changeCount == snapshot.changeCount ? $0 : nil }
        if let known { return known }
        let list = TokenObjectList(snapshot)
        knownObjects.withLock { $0 = list }
        return list
    }

    /// Returns the cached registrations; nil if the keychain has changed since they were read.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    func current() throws -> Snapshot? { fresh(try changeCount()) }

    private func fresh(_ changeCount: Int64) -> Snapshot? {
        known.withLock { $0?.changeCount == changeCount ? $0 : nil }
    }
}
