package import KeyShareServer
package import KeyShareWire
package import SecretMemory
internal import DeviceSimulation
package import Foundation
package import KeySharing
package import OpenSSL
internal import Synchronization

/// The provider app behind its connection: lists, exports, and hands out the password.
///
/// While the device's state keeps the keychain closed, content and password are refused and what was of them
/// in memory is forgotten; lists, which hold no secret, go on.
package final class Provider: ProviderService {
    private let store: ProviderStore
    private let catalogue: Catalogue
    private let exporter: Exporter
    private let now: @Sendable () -> Date
    private let putOnPasteboard: @Sendable (SecretBytes) throws -> Void
    private let hasFixedPassword: Bool
    private let usesEmptyPassword: Bool
    private let deviceState: DeviceStateWatch
    private let currentPassword: Mutex<CurrentPassword>

    /// The service password as it was read last.
    private struct CurrentPassword {
        /// Nil where it was forgotten.
        var password: SecretBytes?
        /// The change count of the keychain that it was read at.
        var generation: Int64 = -1
        /// How often it was another one. After it was forgotten nothing tells; that took a lock, which ends
        /// grants by itself.
        var rotations: UInt64 = 0
    }

    /// Reads the service password, or makes it on first use.
    ///
    /// - Parameter putOnPasteboard: where the legacy mechanism leaves the password of an export; the 2025 one
    ///   never does.
    /// - Parameter fixedPassword: stands in for the service password; nil for the keychain's.
    /// - Throws: `KeychainError` where it can be neither read nor made.
    package init(
        _ store: ProviderStore, root: RootContents = .all, profile: PKCS12Profile,
        friendlyName: String? = nil, fixedPassword: SecretBytes? = nil,
        now: @escaping @Sendable () -> Date, putOnPasteboard: @escaping @Sendable (SecretBytes) throws -> Void
    ) throws {
        self.store = store
        self.now = now
        deviceState = store.watchState()
        self.putOnPasteboard = putOnPasteboard
        catalogue = Catalogue(store, root: root)
        exporter = Exporter(store, profile: profile, friendlyName: friendlyName)
        usesEmptyPassword = profile.usesEmptyPassword
        // Files that are never under a password must not be handed out with one.
        let fixedPassword = usesEmptyPassword ? SecretBytes([]) : fixedPassword
        // Counted before reading, as in the catalogue, so that no change is missed.
        let password = try fixedPassword ?? store.servicePassword()
        hasFixedPassword = fixedPassword != nil
        currentPassword = Mutex(CurrentPassword(password: password))
        try refreshPassword(generation: store.changeCount())
    }

    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try listing().page(of: container, after: cursor, limit: limit)
    }

    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try listing().item(identifier)
    }

    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        _ = try listing().item(identifier)
        return [PasswordService.name]
    }

    package func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        guard let parsed = ItemIdentifier(identifier) else {
            throw ProviderFailure(.notAvailable, "there is no item \u{201C}\(identifier)\u{201D}")
        }
        try requireOpen()
        let snapshot = try snapshot()
        return try await exporter.content(
            of: parsed, in: snapshot, password: servicePassword(), now: now())
    }

    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        try requireOpen()
        return try servicePassword()
    }

    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        do {
            // Both only ever grow.
            return try deviceState.status().lockCount + currentPassword.withLock { $0.rotations }
        } catch {
            throw ProviderFailure(error, during: "the device's state cannot be read")
        }
    }

    /// Follows the device's state: forgets files and password where it keeps the keychain closed, and is ready
    /// again where it does not.
    package func followDeviceState() {
        do throws(ProviderFailure) {
            try requireOpen()
        } catch {
            exporter.forget()
            if !hasFixedPassword {
                currentPassword.withLock { current in
                    current.password = nil
                    current.generation = -1
                }
            }
            return
        }
        // Where it cannot be read now, the next request tries again and says so.
        try? refresh()
    }

    /// Goes over to the service password as it is now, should another process have changed it. Every question
    /// about items or content does so too.
    ///
    /// - Throws: `KeychainError` where it cannot be read.
    package func refresh() throws {
        try refreshPassword(generation: try store.changeCount())
    }

    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        let identities = try snapshot().identities
        let range = try Self.range(after: cursor, limit: limit, count: identities.count)
        return IdentityFactsPage(
            facts: Array(identities[range]),
            nextCursor: range.upperBound < identities.count ? String(range.upperBound) : nil)
    }

    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        let rows = try legacyListing(types).rows
        let range = try Self.range(after: cursor, limit: limit, count: rows.count)
        return ItemPage(
            items: Array(rows[range]),
            nextCursor: range.upperBound < rows.count ? String(range.upperBound) : nil)
    }

    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        let listing = try legacyListing(types)
        let identities = listing.identities(of: row)
        guard !identities.isEmpty else {
            throw ProviderFailure(.notAvailable, "there is no row \u{201C}\(row)\u{201D} for these types")
        }
        try requireOpen()
        var random = RandomSource.system.generator()
        let password = usesEmptyPassword ? SecretBytes([]) : ServicePassword.legacy(using: &random)
        let content =
            listing.request.shape == .archive
            ? try await exporter.legacyArchive(identities, password: password, now: now())
            : try exporter.legacyFile(identities[0], password: password)
        let export = LegacyExport(
            item: listing.export(of: row, size: content.count, using: &random), content: content)
        do {
            try putOnPasteboard(password)
        } catch {
            throw ProviderFailure(.serviceFailed, "the password cannot be put on the pasteboard: \(error)")
        }
        return export
    }

    private func legacyListing(_ types: [String]) throws(ProviderFailure) -> LegacyListing {
        let request: TypeRequest
        do throws(RequestError) {
            request = try TypeRequest(types, mechanism: .legacy)
        } catch {
            throw ProviderFailure(error.isMixed ? .mixedMechanisms : .usage, error.reason)
        }
        return LegacyListing(try snapshot().identities, request: request, now: now())
    }

    private static func range(
        after cursor: String?, limit: Int, count: Int
    ) throws(ProviderFailure) -> Range<Int> {
        guard let start = Int(cursor ?? "0"), (0...count).contains(start) else {
            throw ProviderFailure(.notAvailable, "the page has expired; start again from the first")
        }
        return start..<start + min(max(limit, 1), count - start)
    }

    private func requireOpen() throws(ProviderFailure) {
        do {
            try Keychain.check(ProviderStore.accessibility, isAvailableIn: deviceState.status().state)
        } catch {
            throw ProviderFailure(error, during: "the keychain cannot be read")
        }
    }

    /// The service password as it was read last, or as it is now where it was forgotten since.
    private func servicePassword() throws(ProviderFailure) -> SecretBytes {
        if let password = currentPassword.withLock({ $0.password }) { return password }
        do {
            return try store.servicePassword()
        } catch {
            throw ProviderFailure(error, during: "the password cannot be read")
        }
    }

    private func snapshot() throws(ProviderFailure) -> CatalogueSnapshot {
        do {
            let snapshot = try catalogue.snapshot()
            do {
                try refreshPassword(generation: snapshot.generation)
            } catch let error as KeychainError where error.code == .interactionNotAllowed {
                // What is listed is no secret; the password is not handed out before this has succeeded.
            }
            return snapshot
        } catch {
            throw ProviderFailure(error, during: "the keychain cannot be read")
        }
    }

    /// Reads the password again if the keychain has changed since it was read.
    private func refreshPassword(generation: Int64) throws {
        guard !hasFixedPassword else { return }
        // Read under the lock, so that what was read earlier never takes the place of what was read later.
        try currentPassword.withLock { current in
            guard current.generation != generation else { return }
            let password = try store.servicePassword()
            if let old = current.password, old != password { current.rotations += 1 }
            current.password = password
            current.generation = generation
        }
    }

    private func listing() throws(ProviderFailure) -> Listing {
        let snapshot = try snapshot()
        return Listing(snapshot, now: now()) { [exporter] identifier in
            exporter.knownSize(identifier, generation: snapshot.generation)
        }
    }
}

extension ProviderFailure {
    /// What an error from below means for a consumer: refused where the device's state keeps the keychain
    /// closed, not available where an identity has gone since it was listed, and else a failure of the service.
    init(_ error: any Error, during what: String) {
        switch (error as? KeychainError)?.code {
        case .interactionNotAllowed?:
            let error = error as? KeychainError
            self.init(.refused, [error?.reason, error?.hint].compactMap { $0 }.joined(separator: "; "))
        case .itemNotFound?: self.init(.notAvailable, "\(what): an identity has gone since it was listed")
        default: self.init(.serviceFailed, "\(what): \(error)")
        }
    }
}
