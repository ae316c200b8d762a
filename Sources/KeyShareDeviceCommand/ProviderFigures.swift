import DeviceSimulation
import KeyShareClient
import KeyShareWire

/// Requests the statistics of a running provider.
enum ProviderFigures {
    /// Returns the statistics of the provider that listens at `path`; nil if it reports no statistics.
    ///
    /// - Throws: `SocketError` or `ProviderFailure` if no provider answers within 2 s.
    static func fetched(from path: String) async throws -> [ProviderFigure]? {
        var limits = ProviderClient.Limits()
        limits.hello = .seconds(2)
        limits.reply = .seconds(2)
        let client = try await ProviderClient.connect(
            path: path, clientName: "keyshare-device", limits: limits)
        let figures = try? await client.statistics()
        await client.close()
        return figures
    }
}
