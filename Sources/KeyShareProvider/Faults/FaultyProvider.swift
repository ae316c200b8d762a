internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
package import KeySharing
package import SecretMemory

/// Wraps a provider, and changes its answers as one service fault requires.
///
/// `Provider` applies the fault's password, and the server applies its connection fault.
package struct FaultyProvider: ProviderService {
    private let provider: Provider
    private let changes: ServiceFault.AnswerChanges
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Wraps `provider`, and changes its answers as `fault` describes.
    ///
    /// - Parameters:
    ///   - provider: The provider to wrap.
    ///   - fault: The fault to apply.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    package init(
        _ provider: Provider, fault: ServiceFault,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.provider = provider
        self.sleep = sleep
        changes = fault.answers
    }

    /// The provider's persistent token. Service faults do not affect it; the token has separate faults.
    package var token: (any TokenService)? { provider.token }

    /// The provider's shared aliases, which have separate faults.
    package var aliases: (any AliasService)? { provider.aliases }

    /// Returns the provider's services. The fault may delay or rename them.
    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        let names = try await provider.services(for: identifier)
        await delay()
        return changes.services(names)
    }

    /// Returns the provider's cached bytes, as the fault changes them, or the expected cost of an export. If the fault
    /// delays the content or rotates the password, each request needs an export of its own.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        // Cached bytes would be returned without the delay, and would have the password from before the rotation.
        let state = try await provider.contentState(of: identifier)
        guard changes.delay == .zero, !changes.rotatesPassword else { return .needsExport(ExpectedCost()) }
        return switch state {
        case .ready(let bytes): .ready(changes.content(bytes))
        case .needsExport: state
        }
    }

    /// Returns the provider's expected cost of a legacy export, unchanged.
    package func exportCost(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedCost {
        try await provider.exportCost(row, types: types)
    }

    /// Returns the provider's bytes. The fault may delay or change them, or replace the password first.
    package func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        await delay()
        if changes.rotatesPassword {
            do {
                try provider.rotatePassword()
            } catch {
                throw ProviderFailure(.serviceFailed, "the password cannot be rotated: \(error)")
            }
        }
        return changes.content(try await provider.content(of: identifier))
    }

    /// Returns the provider's password, or the fault's replacement for it.
    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        guard let password = changes.password else { return try provider.password(for: identifier) }
        return try password()
    }

    /// Runs `body` with at most one check of the device's state, as the provider does.
    package func withStateSnapshot(_ body: () -> Void) { provider.withStateSnapshot(body) }

    /// Returns the provider's grant period, or a constant if the fault rotates the password, so that grants outlive the
    /// rotation.
    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        // Otherwise the rotation would end the grant after the password is fetched and before the bytes are read.
        changes.rotatesPassword ? 0 : try provider.grantPeriod()
    }

    /// Returns the provider's page of items, unchanged.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.page(of: container, after: cursor, limit: limit)
    }

    /// Returns the provider's item, unchanged.
    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try await provider.item(identifier)
    }

    /// Returns the provider's rows of the legacy mechanism, unchanged.
    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.present(types, after: cursor, limit: limit)
    }

    /// Returns the provider's legacy export. The fault may delay or change it.
    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        await delay()
        var export = try await provider.choose(row, types: types)
        export.content = changes.content(export.content)
        return export
    }

    /// Returns the provider's page of identity facts, unchanged.
    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identityFacts(after: cursor, limit: limit)
    }

    /// Returns the provider's page of the identities in a container, unchanged.
    package func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identities(of: container, after: cursor, limit: limit)
    }

    /// Waits for the duration of the fault. The wait ends early if the connection ends.
    private func delay() async {
        guard changes.delay > .zero else { return }
        try? await sleep(changes.delay)
    }
}
