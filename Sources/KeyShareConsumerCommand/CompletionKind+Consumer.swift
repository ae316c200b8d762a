import ArgumentParser
import CommandSupport
import KeyShareClient
import KeyShareConsumer
import KeySharing
import PersistentToken

extension CompletionKind {
    /// The labels of the identities in the consumer's keychain, but for those on the line already.
    static let consumerLabels = CompletionKind.values { request in
        let labels = request.device.flatMap { try? ConsumerStore(existingOn: $0)?.labels() }
        return request.matching((labels ?? []).filter { !request.contains($0) })
    }

    /// The names of the items that the running provider lists.
    static let providerItems = CompletionKind.answers { request in
        guard let socket = request.socket else { return [] }
        // Whoever types does not wait for a provider that hangs.
        var limits = ProviderClient.Limits()
        (limits.hello, limits.reply, limits.whole) = (patience, patience, patience)
        guard let client = try? await ProviderClient.connect(path: socket, limits: limits) else { return [] }
        let names = await request.itemNames { try await client.items(in: $0) }
        await client.close()
        return names.filter { !request.contains($0) }
    }

    /// The labels of the tokens that the running provider lists.
    static let tokenLabels = CompletionKind.answers { request in
        guard let socket = request.socket else { return [] }
        var limits = ProviderClient.Limits()
        (limits.hello, limits.reply, limits.whole) = (patience, patience, patience)
        guard let client = try? await ProviderClient.connect(path: socket, limits: limits) else { return [] }
        let labels = (try? await client.tokens())?.map(\.objectID) ?? []
        await client.close()
        return request.matching(labels.filter { !request.contains($0) })
    }

    private static let patience = Duration.milliseconds(250)
}
