internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
package import KeySharing
package import SecretMemory

/// A provider whose answers are changed by one fault.
///
/// The fault's password and its connection fault are not applied here, but by `Provider` and by the server.
package struct FaultyProvider: ProviderService {
    private let provider: Provider
    private let changes: ServiceFault.AnswerChanges
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Changes the answers of `provider` as `fault` describes.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - fault: The fault.
    ///   - sleep: Waits; throws `CancellationError` if the task is cancelled.
    package init(
        _ provider: Provider, fault: ServiceFault,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.provider = provider
        self.sleep = sleep
        changes = fault.answers
    }

    /// The provider's persistent token, which has faults of its own.
    package var token: (any TokenService)? { provider.token }

    /// Returns the provider's services. The fault may delay or rename them.
    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        let names = try await provider.services(for: identifier)
        await delay()
        return changes.services(names)
    }

    /// Reports that an export is needed if the fault delays the content or rotates the password.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        // A cached file would have the previous password and would not be changed.
        let state = try await provider.contentState(of: identifier)
        guard case .ready(let bytes) = state, changes.delay == .zero, !changes.rotatesPassword else {
            return .needsExport(ExpectedCost())
        }
        return .ready(changes.content(bytes))
    }

    /// Returns the provider's expected cost.
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

    /// Runs `body` with the provider's snapshot.
    package func withStateSnapshot(_ body: () -> Void) { provider.withStateSnapshot(body) }

    /// Returns the provider's grant period; a constant if the fault rotates the password.
    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        // A rotation would end the grant between the fetch of the password and the read of the bytes.
        changes.rotatesPassword ? 0 : try provider.grantPeriod()
    }

    /// Returns the provider's page.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.page(of: container, after: cursor, limit: limit)
    }

    /// Returns the provider's item.
    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try await provider.item(identifier)
    }

    /// Returns the provider's rows of the legacy mechanism.
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

    /// Returns the provider's facts about identities.
    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identityFacts(after: cursor, limit: limit)
    }

    /// Returns the provider's description of a container's identities.
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
