package import DeviceSimulation
package import Foundation
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
package import KeySharing
package import OpenSSL
package import SecretMemory
internal import SimulatedKeychain
internal import Synchronization

/// The service of the provider app: it lists and exports items, and returns their password.
///
/// While the device's state makes the keychain inaccessible, requests for content and passwords are rejected, and
/// cached copies are removed from memory. Lists contain no secrets and remain available (docs/rules.md R6.11).
package final class Provider: ProviderService {
    private let store: ProviderStore
    private let settings: Mutex<Settings>
    private let keychainWatch: KeychainWatch
    private let legacyListings = LegacyListings()
    private let now: @Sendable () -> Date
    private let putOnPasteboard: @Sendable (SecretBytes) throws -> Void
    /// The persistent token; nil if the provider does not offer one.
    package let token: (any TokenService)?
    /// The shared aliases; nil if the provider shares none.
    package let aliases: (any AliasService)?
    private let deviceState: DeviceStateWatch
    private let fixedPassword: SecretBytes?
    private let servicePassword: CurrentServicePassword

    /// Creates the service. Reads the service password, or creates it on first use.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - root: The single files in the root of the 2025 listing.
    ///   - profile: The encryption of files. If the profile uses the empty password, the password service also returns
    ///     the empty password.
    ///   - friendlyName: The friendly name of all keys and certificates; nil for the default of the mechanism.
    ///   - token: The persistent token; nil for a provider without one.
    ///   - aliases: The shared aliases; nil if the provider shares none.
    ///   - fixedPassword: Replaces the service password; nil to use the keychain's.
    ///   - deviceState: The watch over the device's state that the provider shares with the token; nil to create one.
    ///   - now: The clock.
    ///   - putOnPasteboard: Receives the password of each legacy export; the 2025 mechanism never calls it.
    /// - Throws: `KeychainError` if the service password can be neither read nor created.
    package init(
        _ store: ProviderStore, root: RootContents = .all, profile: PKCS12Profile,
        friendlyName: String? = nil, token: (any TokenService)? = nil, aliases: (any AliasService)? = nil,
        fixedPassword: SecretBytes? = nil,
        deviceState: DeviceStateWatch? = nil,
        now: @escaping @Sendable () -> Date, putOnPasteboard: @escaping @Sendable (SecretBytes) throws -> Void
    ) throws {
        self.store = store
        self.now = now
        self.putOnPasteboard = putOnPasteboard
        self.token = token
        self.aliases = aliases
        let deviceState = deviceState ?? store.watchState()
        self.deviceState = deviceState
        keychainWatch = store.watchChanges(in: deviceState.turn)
        settings = Mutex(
            Settings(store, keychainWatch, root: root, profile: profile, friendlyName: friendlyName))
        servicePassword = CurrentServicePassword(
            store.servicePassword, fixed: profile.usesEmptyPassword ? SecretBytes([]) : fixedPassword)
        self.fixedPassword = fixedPassword
        try refresh()
    }

    /// Replaces the settings for lists and files. Connections remain. Grants end if the password changes, which happens
    /// to and from a profile that uses the empty password. Parameters are as in the initializer.
    package func follow(root: RootContents, profile: PKCS12Profile, friendlyName: String?) {
        let new = Settings(store, keychainWatch, root: root, profile: profile, friendlyName: friendlyName)
        servicePassword.replaceFixed(profile.usesEmptyPassword ? SecretBytes([]) : fixedPassword)
        settings.withLock { $0 = new }
    }

    /// The parts of a provider that depend on its settings.
    private struct Settings: Sendable {
        let catalogue: ProviderCatalogue
        let exporter: Exporter
        let usesEmptyPassword: Bool

        init(
            _ store: ProviderStore, _ watch: KeychainWatch, root: RootContents, profile: PKCS12Profile,
            friendlyName: String?
        ) {
            catalogue = ProviderCatalogue(store, root: root, watch: watch)
            exporter = Exporter(store, profile: profile, friendlyName: friendlyName)
            usesEmptyPassword = profile.usesEmptyPassword
        }
    }

    private var catalogue: ProviderCatalogue { settings.withLock { $0.catalogue } }
    private var exporter: Exporter { settings.withLock { $0.exporter } }
    private var usesEmptyPassword: Bool { settings.withLock { $0.usesEmptyPassword } }

    /// Runs `body` with at most one check of the device's state.
    package func withStateSnapshot(_ body: () -> Void) {
        deviceState.turn.run(body)
    }

    /// Returns a page of a container of the 2025 mechanism (docs/rules.md R3.1).
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try listing().page(of: container, after: cursor, limit: limit)
    }

    /// Returns the item of the 2025 mechanism with an identifier.
    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try listing().item(identifier)
    }

    /// Returns the services of an item. The only one is the password service (docs/rules.md R6.1).
    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        _ = try listing().item(identifier)
        return [PasswordService.name]
    }

    /// Returns the cached bytes of a 2025 item, or the expected cost of its export if the item is not cached.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        guard let parsed = ItemIdentifier(identifier) else {
            throw ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
        }
        try requireOpen()
        let snapshot = try snapshot()
        if let made = try exporter.madeContent(of: parsed, in: snapshot, password: currentPassword()) {
            return .ready(made)
        }
        return .needsExport(
            ExpectedCost(
                sharedName: "\(identifier)@\(snapshot.generation)",
                bytes: Exporter.expectedBytes(files: parsed.fileCount(in: snapshot))))
    }

    /// Exports a 2025 item, or returns its cached bytes.
    package func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        guard let parsed = ItemIdentifier(identifier) else {
            throw ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
        }
        try requireOpen()
        let snapshot = try snapshot()
        return try await exporter.content(
            of: parsed, in: snapshot, password: currentPassword(), now: now())
    }

    /// Returns the service password from memory (docs/rules.md R6.1). After a restart of the device, requests are
    /// rejected until the first unlock (R6.11).
    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        try requireOpen()
        return try currentPassword()
    }

    /// Returns a number that grows when the device is locked or restarted (docs/rules.md R6.11) and when the service
    /// password is replaced (R6.9).
    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        do {
            // Neither number ever decreases, so every change changes the sum. The addition wraps because the first
            // number comes from a file, which may contain the maximum value.
            return try deviceState.status().lockCount &+ servicePassword.rotations
        } catch {
            throw ProviderFailure(error, during: "the device's state cannot be read")
        }
    }

    /// Returns the facts that determine where each identity is listed. Consumers use them for explanations.
    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        let identities = try snapshot().identities
        let range = try Self.range(after: cursor, limit: limit, count: identities.count)
        return IdentityFactsPage(
            facts: Array(identities[range]),
            nextCursor: range.upperBound < identities.count ? String(range.upperBound) : nil)
    }

    /// Returns a page of the identities in the files of a 2025 container.
    package func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try listing().identities(of: container, after: cursor, limit: limit)
    }

    /// Returns the rows that the legacy mechanism shows for `types` (docs/rules.md R1.5).
    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        let rows = try legacyListing(types).rows
        let range = try Self.range(after: cursor, limit: limit, count: rows.count)
        return ItemPage(
            items: Array(rows[range]),
            nextCursor: range.upperBound < rows.count ? String(range.upperBound) : nil)
    }

    /// Returns the expected cost of exporting the identities of a row in the legacy listing.
    package func exportCost(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedCost {
        let identities = try legacyListing(types).identities(of: row)
        guard !identities.isEmpty else { throw Self.noRow(row) }
        try requireOpen()
        return ExpectedCost(bytes: Exporter.expectedBytes(files: identities.count))
    }

    /// Exports the identities of a row in the legacy listing as one file, and puts the file's password on the
    /// pasteboard (docs/rules.md R4.10).
    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        let listing = try legacyListing(types)
        let identities = listing.identities(of: row)
        guard !identities.isEmpty else {
            throw Self.noRow(row)
        }
        try requireOpen()
        var random = RandomSource.system.generator()
        let password =
            usesEmptyPassword ? SecretBytes([]) : ServicePasswordStore.makeLegacyPassword(using: &random)
        let content =
            listing.request.shape == .archive
            ? try await exporter.legacyArchive(identities, password: password, now: now())
            : try exporter.legacyFile(identities[0], password: password)
        let export = LegacyExport(
            item: listing.export(of: row, size: content.count, using: &random), content: content)
        // The pasteboard belongs to the user, so it must not receive the password of a file that no consumer reads.
        guard !Task.isCancelled else { throw ProviderFailure(.serviceFailed, "the consumer disconnected") }
        do {
            try putOnPasteboard(password)
        } catch {
            throw ProviderFailure(.serviceFailed, "the password cannot be put on the pasteboard: \(error)")
        }
        return export
    }
}

// MARK: - External changes

extension Provider {
    /// Handles a change of the device's state. If the keychain is now inaccessible, removes files and the password from
    /// memory. Otherwise reads the password again.
    package func followDeviceState() {
        do throws(ProviderFailure) {
            try requireOpen()
        } catch {
            exporter.forget()
            servicePassword.forget()
            return
        }
        // If the password cannot be read now, the next request reads it and reports the error.
        try? refresh()
    }

    /// Reads the service password again if the keychain has changed. Every request about items or content also does
    /// this.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    package func refresh() throws {
        try servicePassword.refresh(generation: store.changeCount())
    }

    /// Replaces the service password.
    ///
    /// - Throws: `KeychainError`, as `ServicePasswordStore.rotate()`.
    func rotatePassword() throws {
        try store.servicePassword.rotate()
    }
}

// MARK: - Parts of a request

extension Provider {
    private static func noRow(_ row: String) -> ProviderFailure {
        ProviderFailure(.notAvailable, "the legacy list has no row \u{201C}\(row)\u{201D} for these types")
    }

    private func requireOpen() throws(ProviderFailure) {
        do {
            try deviceState.requireOpen()
        } catch {
            throw ProviderFailure(error, during: "the keychain cannot be read")
        }
    }

    private func currentPassword() throws(ProviderFailure) -> SecretBytes {
        do {
            return try servicePassword.password()
        } catch {
            throw ProviderFailure(error, during: "the password cannot be read")
        }
    }

    private func snapshot() throws(ProviderFailure) -> CatalogueSnapshot {
        do {
            let snapshot = try catalogue.snapshot()
            do {
                try servicePassword.refresh(generation: snapshot.generation)
            } catch  where error.code == .interactionNotAllowed {
                // Lists contain no secrets and work without the password. Requests for the password fail until it can
                // be read.
            }
            return snapshot
        } catch {
            throw ProviderFailure(error, during: "the keychain cannot be read")
        }
    }

    private func listing() throws(ProviderFailure) -> ItemListing {
        let snapshot = try snapshot()
        return ItemListing(snapshot, now: now()) { [exporter] identifier in
            exporter.knownSize(identifier, generation: snapshot.generation)
        }
    }

    private func legacyListing(_ types: [String]) throws(ProviderFailure) -> LegacyListing {
        let request: TypeRequest
        do throws(RequestError) {
            request = try TypeRequest(types, under: .legacy)
        } catch {
            throw ProviderFailure(error.isMixed ? .mixedMechanisms : .usage, error.message)
        }
        return legacyListings.listing(of: request, in: try snapshot(), now: now())
    }

    private static func range(
        after cursor: String?, limit: Int, count: Int
    ) throws(ProviderFailure) -> Range<Int> {
        guard let start = Int(cursor ?? "0"), (0...count).contains(start) else {
            throw ProviderFailure(.notAvailable, "the page has expired; start again from the first page")
        }
        return start..<start + min(max(limit, 1), count - start)
    }
}

extension ItemIdentifier {
    /// The number of PKCS #12 files in the item.
    fileprivate func fileCount(in snapshot: CatalogueSnapshot) -> Int {
        switch self {
        case .identity, .member: 1
        case .folder: 0
        case .zip(let selector): snapshot.count(in: selector)
        }
    }
}

extension ProviderFailure {
    /// Translates an error of the provider for the consumer: `.refused` if the device's state makes the keychain
    /// inaccessible, `.notAvailable` if an identity was removed after it was listed, otherwise `.serviceFailed`.
    ///
    /// - Parameter what: The failed action, as a clause such as "the file cannot be created".
    init(_ error: any Error, during what: String) {
        switch (error as? KeychainError)?.code {
        case .interactionNotAllowed?:
            let error = error as? KeychainError
            let remedy =
                error?.detail == .needsPasscode
                ? "set a passcode, which this item requires" : "unlock the device"
            self.init(.refused, [error?.reason, remedy].compactMap { $0 }.joined(separator: "; "))
        case .itemNotFound?: self.init(.notAvailable, "\(what): an identity was removed after it was listed")
        default: self.init(.serviceFailed, "\(what): \(error)")
        }
    }
}
