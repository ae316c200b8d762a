internal import DeviceSimulation
internal import OpenSSL
internal import PersistentToken
private import Synchronization

/// The registrations as they were read last. They are read anew where the keychain has changed since.
final class TokenCatalogue: Sendable {
    /// The registrations of one moment.
    struct Snapshot: Sendable {
        /// The keychain's change count of that moment.
        let changeCount: Int64
        /// The registrations, in the order in which they were made.
        let registrations: [TokenRegistration]
        private let places: [String: Int]

        fileprivate init(changeCount: Int64, registrations: [TokenRegistration]) {
            self.changeCount = changeCount
            self.registrations = registrations
            places = Dictionary(
                registrations.enumerated().map { ($1.label, $0) }, uniquingKeysWith: { first, _ in first })
        }

        /// The registration of a label; nil where there is none.
        subscript(label: String) -> TokenRegistration? { places[label].map { registrations[$0] } }

        /// The registration behind that of `label`, and the first behind the last; nil where there is none of `label`.
        func next(after label: String) -> TokenRegistration? {
            places[label].map { registrations[($0 + 1) % registrations.count] }
        }
    }

    private let store: TokenStore
    private let watch: KeychainWatch
    private let known = Mutex<Snapshot?>(nil)
    private let knownObjects = Mutex<TokenObjectList?>(nil)

    init(_ store: TokenStore, _ turn: LookTurn) {
        self.store = store
        watch = store.watch(turn)
    }

    /// A number that grows whenever any process registers or removes a token, or a key goes.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read.
    func changeCount() throws(KeychainError) -> Int64 { try watch.changeCount() }

    /// The registrations.
    ///
    /// - Throws: `KeychainError`; `CertificateError` where OpenSSL refuses a certificate.
    func snapshot() throws -> Snapshot {
        let changeCount = try changeCount()
        if let known = fresh(changeCount) { return known }
        let snapshot = Snapshot(changeCount: changeCount, registrations: try store.registrations())
        // A change between the two reads grows the count further, so that the next look reads again.
        known.withLock { $0 = snapshot }
        return snapshot
    }

    /// The registrations as PKCS #11 shows them.
    ///
    /// - Parameter hasKeys: whether keys are shown that are there; one value for the life of the catalogue.
    /// - Throws: `KeychainError`; `CertificateError` where OpenSSL refuses a certificate.
    func objects(hasKeys: Bool) throws -> TokenObjectList {
        let snapshot = try snapshot()
        let known = knownObjects.withLock { $0?.changeCount == snapshot.changeCount ? $0 : nil }
        if let known { return known }
        let list = TokenObjectList(snapshot, hasKeys: hasKeys)
        knownObjects.withLock { $0 = list }
        return list
    }

    /// The registrations, without reading any; nil where the keychain has changed since they were read.
    ///
    /// - Throws: `KeychainError` where the keychain cannot be read.
    func current() throws -> Snapshot? { fresh(try changeCount()) }

    private func fresh(_ changeCount: Int64) -> Snapshot? {
        known.withLock { $0?.changeCount == changeCount ? $0 : nil }
    }
}
