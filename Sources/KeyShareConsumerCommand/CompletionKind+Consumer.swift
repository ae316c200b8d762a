import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import PersistentToken
internal import SimulatedKeychain

extension CompletionKind {
    /// The labels of the identities in the consumer's keychain, except those that are already on the command line.
    static let consumerLabels = CompletionKind.values { labelsInKeychain($0) }

    /// The names of the keys that can open or sign messages. With `--token` these are labels of tokens, with `--alias`
    /// aliases, and otherwise labels in the keychain.
    static let keyLabels = CompletionKind.answers { request in
        if request.contains("--alias") { return await aliases(request) }
        return request.contains("--token") ? await labelsOfTokens(request) : labelsInKeychain(request)
    }

    /// The aliases that the running provider shares, if the app has the permission READ_ALIAS.
    static let sharedAliases = CompletionKind.answers { await aliases($0) }

    /// The names of the items that the running provider lists.
    static let providerItems = CompletionKind.answers { request in
        let names = await ask(request) { client in
            await request.itemNames { try await client.items(in: $0) }
        }
        return (names ?? []).filter { !request.contains($0) }
    }

    /// The labels of the tokens that the running provider lists.
    static let tokenLabels = CompletionKind.answers { await labelsOfTokens($0) }

    private static func labelsInKeychain(_ request: CompletionRequest) -> [String] {
        let labels = request.device.flatMap { try? ConsumerStore(existingOn: $0)?.labels() }
        return request.matching((labels ?? []).filter { !request.contains($0) })
    }

    private static func labelsOfTokens(_ request: CompletionRequest) async -> [String] {
        let labels = await ask(request) { try await $0.tokens().map(\.objectID) }
        return request.matching((labels ?? []).filter { !request.contains($0) })
    }

    private static func aliases(_ request: CompletionRequest) async -> [String] {
        // Without a decision of the user, a query would open a prompt.
        let app = App.consumer.bundleIdentifier
        guard request.aliasDecisions[app]?.permission == .granted else { return [] }
        let table = await ask(request) { try await $0.aliases(app: app, columns: ["alias"]) }
        return request.matchingTexts((table?.rows ?? []).compactMap(\.first))
    }

    /// Sends a request to the running provider; nil if there is no provider or it does not answer in time.
    private static func ask<Answer: Sendable>(
        _ request: CompletionRequest, _ question: (ProviderClient) async throws -> Answer
    ) async -> Answer? {
        guard let socket = request.socket else { return nil }
        // Completion must be fast, so it does not wait for a provider that hangs.
        var limits = ProviderClient.Limits()
        (limits.hello, limits.reply, limits.whole) = (patience, patience, patience)
        guard let client = try? await ProviderClient.connect(path: socket, limits: limits) else { return nil }
        let answer = try? await question(client)
        await client.close()
        return answer
    }

    private static let patience = Duration.milliseconds(250)
}
