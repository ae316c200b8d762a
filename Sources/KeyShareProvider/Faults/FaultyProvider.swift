package import KeyShareServer
package import KeyShareWire
package import KeySharing
package import SecretMemory

/// A provider whose answers one fault changes.
///
/// The fault's own password and its fault of the connection are not applied here: `Provider` and the server receive
/// them.
package struct FaultyProvider: ProviderService {
    private let provider: Provider
    private let changes: ServiceFault.AnswerChanges
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Changes the answers of `provider` as `fault` says.
    ///
    /// - Parameters:
    ///   - provider: The provider whose answers change.
    ///   - fault: What changes.
    ///   - sleep: Waits; throws `CancellationError` where the task is cancelled.
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

    /// The provider's services, late or under other names if the fault says so.
    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        let names = try await provider.services(for: identifier)
        await delay()
        return changes.services(names)
    }

    /// Says that the provider's bytes must be made, if the fault holds them back or changes them.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        // What was made before is under the password before, and unchanged.
        let state = try await provider.contentState(of: identifier)
        guard case .ready(let bytes) = state, changes.delay == .zero, !changes.rotatesPassword else {
            return .toMake(ExpectedWork())
        }
        return .ready(changes.content(bytes))
    }

    /// What it takes the provider to export.
    package func exportWork(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedWork {
        try await provider.exportWork(row, types: types)
    }

    /// The provider's bytes, late, changed, or under a password that was just replaced if the fault says so.
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

    /// The provider's password, or the fault's answer in place of it.
    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        guard let password = changes.password else { return try provider.password(for: identifier) }
        return try password()
    }

    /// Runs `body` as the provider does.
    package func withOneLook(_ body: () -> Void) { provider.withOneLook(body) }

    /// The provider's period of grants; one that never ends if the fault rotates the password.
    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        // A rotation would end the grant between the fetch of the password and the read of the bytes.
        changes.rotatesPassword ? 0 : try provider.grantPeriod()
    }

    /// The provider's page.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.page(of: container, after: cursor, limit: limit)
    }

    /// The provider's item.
    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try await provider.item(identifier)
    }

    /// The provider's rows of the legacy mechanism.
    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.present(types, after: cursor, limit: limit)
    }

    /// The provider's export of the legacy mechanism, late or changed if the fault says so of every item's bytes.
    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        await delay()
        var export = try await provider.choose(row, types: types)
        export.content = changes.content(export.content)
        return export
    }

    /// The provider's facts about identities.
    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identityFacts(after: cursor, limit: limit)
    }

    /// The provider's description of a container's identities.
    package func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identities(of: container, after: cursor, limit: limit)
    }

    /// Waits as long as the fault says; ends early where the connection has ended and no one waits for the answer.
    private func delay() async {
        guard changes.delay > .zero else { return }
        try? await sleep(changes.delay)
    }
}
