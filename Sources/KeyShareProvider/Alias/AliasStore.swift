internal import CertificateReading
package import DeviceSimulation
package import Foundation
package import KeySharing
internal import OpenSSL
package import SimulatedKeychain

/// The provider's part of alias sharing: it installs identities in KeyChain, and broadcasts the changes.
package struct AliasStore: Sendable {
    /// KeyChain, which holds the entries.
    package let keyChain: AndroidKeyChain
    private let store: ProviderStore
    private let now: @Sendable () -> Date

    /// Creates a store for the identities of a provider.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - now: The clock for the times of broadcasts.
    /// - Throws: `KeychainError` if KeyChain cannot be opened.
    package init(_ store: ProviderStore, now: @escaping @Sendable () -> Date) throws(KeychainError) {
        keyChain = try AndroidKeyChain(store.device, now: now)
        self.store = store
        self.now = now
    }

    /// Returns the entries, sorted by alias. An entry with an unreadable certificate is skipped.
    ///
    /// - Throws: `KeychainError`.
    package func entries() throws(KeychainError) -> [SharedAlias] {
        try keyChain.entries().compactMap { try? SharedAlias($0) }
    }

    /// Returns the aliases that identities get, by the rules of docs/rules.md R9.14.
    ///
    /// - Parameters:
    ///   - identities: The identities to add.
    ///   - includingOlder: Whether older signature, authentication and device identities also get an alias.
    /// - Returns: The labels of the identities without an entry, with their aliases.
    /// - Throws: `KeychainError`.
    package func assignments(
        for identities: [IdentitySummary], includingOlder: Bool
    ) throws(KeychainError) -> [(label: String, alias: String)] {
        try naming().assignments(for: identities, includingOlder: includingOlder)
            .map { ($0.label, $0.alias) }
    }

    /// Installs identities in KeyChain. An entry with the same alias is replaced, and keeps its key grants.
    ///
    /// - Parameters:
    ///   - identities: The labels of the identities, with their aliases.
    ///   - action: The broadcast that announces the change. With nil, the system does not broadcast the change either.
    /// - Throws: `KeychainError`: `.itemNotFound` for an unknown label, `.interactionNotAllowed` before the
    ///   first unlock; `DeviceError.Code.invalidValue` for an invalid alias; `CertificateError`, `OpenSSLError`, `FileError`.
    package func add(
        _ identities: [(label: String, alias: String)], announcing action: AliasBroadcast?
    ) throws {
        guard !identities.isEmpty else { return }
        try keyChain.install(
            identities.map { label, alias in
                let (certificate, key) = try open(label)
                return (
                    KeyChainEntry(alias: alias, label: label, certificate: certificate.der), try key.pkcs8()
                )
            }, isAnnounced: action != nil)
        if let action { try announce(action) }
    }

    /// Sends a broadcast.
    ///
    /// - Throws: `FileError` if the log cannot be written.
    package func announce(_ action: AliasBroadcast) throws {
        try Broadcasts(store.device).send(action, at: now())
    }

    /// Announces a reset, and removes all entries.
    ///
    /// - Parameters:
    ///   - fault: The deliberate fault of alias sharing, which may delay the removal.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    /// - Returns: The number of removed entries.
    /// - Throws: `KeychainError`, `FileError`, `CancellationError`.
    package func reset(
        fault: AliasFault?, sleep: @Sendable (Duration) async throws -> Void
    ) async throws -> Int {
        try announce(.resetInitiated)
        if let delay = fault?.changes.removalDelay { try await sleep(delay) }
        return try keyChain.remove(try keyChain.entries().map(\.alias))
    }

    /// Installs renewed identities. A newer identity of the same person and type replaces the entry of the older one
    /// under the same alias. A new encryption identity gets an alias of its own, because the older key is still needed.
    ///
    /// - Parameter fault: The deliberate fault of alias sharing, which may change the aliases or omit the broadcasts.
    /// - Returns: The number of installed identities.
    /// - Throws: `KeychainError`, `CertificateError`, `OpenSSLError`, `FileError`.
    package func addRenewed(fault: AliasFault?) throws -> Int {
        var installed: [IdentityOwner: SharedAlias] = [:]
        for entry in try entries() {
            guard let owner = IdentityOwner(IdentitySummary(entry.certificate)) else { continue }
            let known = installed[owner]?.certificate.notBefore
            if known.map({ $0 < entry.certificate.notBefore }) ?? true { installed[owner] = entry }
        }
        guard !installed.isEmpty else { return 0 }
        var newer: [IdentityOwner: [IdentitySummary]] = [:]
        for identity in try store.heldIdentities() {
            guard let owner = IdentityOwner(identity), let known = installed[owner],
                identity.notBefore > known.certificate.notBefore
            else { continue }
            newer[owner, default: []].append(identity)
        }
        var added: [(label: String, alias: String)] = []
        var replaced: [String] = []
        var encryption: [IdentitySummary] = []
        for (owner, identities) in newer {
            guard owner.type != .encryption else {
                encryption += identities
                continue
            }
            guard let entry = installed[owner],
                let newest = identities.max(by: { $0.notBefore < $1.notBefore })
            else { continue }
            added.append((newest.label, fault?.changes.renewedAlias?(entry.alias) ?? entry.alias))
            replaced.append(entry.alias)
        }
        // Assigned together, so that no two persons get the same number.
        added += try assignments(for: encryption, includingOlder: false)
        try add(added, announcing: fault?.changes.renewsSilently == true ? nil : .updateCompleted)
        if fault?.changes.renewedAlias != nil { _ = try keyChain.remove(replaced) }
        return added.count
    }

    private func naming() throws(KeychainError) -> AliasNaming {
        AliasNaming(
            existing: Dictionary(
                try keyChain.entries().map { ($0.alias, $0.label) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Opens a published or token-only identity.
    private func open(_ label: String) throws -> (Certificate, PrivateKey) {
        let tokens = TokenStore(store)
        if try !tokens.isPublished(label), let registration = try tokens.registration(label) {
            return (registration.certificate, try tokens.privateKey(label))
        }
        let identity = try store.identity(label)
        return (identity.certificate, identity.privateKey)
    }
}
