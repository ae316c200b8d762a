import KeyShareClient

extension ProviderClient {
    /// Runs `body` with a connection to the provider, which is closed behind it.
    ///
    /// - Throws: `SocketError`, `ProviderFailure`, and what `body` throws.
    static func withConnection<Result>(
        path: String, _ body: (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let client = try await ProviderClient.connect(path: path, clientName: "keyshare-consumer")
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }
}
