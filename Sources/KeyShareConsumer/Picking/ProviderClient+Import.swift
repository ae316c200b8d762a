internal import Diagnostics
package import KeyShareClient
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
internal import OpenSSL
package import SecretMemory

extension ProviderClient {
    /// Connects to the provider that serves on the socket `path`, runs `body`, and closes the connection.
    ///
    /// - Throws: `SocketError`, `ProviderFailure`, and what `body` throws.
    package static func withConnection<Result>(
        path: String, clientName: String = "keyshare-consumer",
        _ body: (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let client = try await ProviderClient.connect(path: path, clientName: clientName)
        do {
            let result = try await body(client)
            await client.close()
            return result
        } catch {
            await client.close()
            throw error
        }
    }

    /// Fetches the bytes and the password of an item (docs/rules.md R6.2): starts accessing the item, picks
    /// the password service by name (R6.3), fetches the password, reads, and stops accessing on every path.
    ///
    /// Where the grant ends on the way, as when the password is replaced, all steps are done once more
    /// (R6.10).
    ///
    /// - Throws: `ImportError` `.noPasswordService`; `ProviderFailure`, `SocketError`.
    package func fetch(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        _ = try await startAccessing(item.identifier)
        do {
            return try await fetchGranted(item)
        } catch let failure as ProviderFailure where failure.code == .notAvailable {
            // The item is gone or the grant has ended; the next answer tells which.
            _ = try await startAccessing(item.identifier)
            return try await fetchGranted(item)
        }
    }

    private func fetchGranted(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        do {
            guard try await services(for: item.identifier).contains(PasswordService.name) else {
                throw ImportError(
                    .noPasswordService,
                    "the provider offers no password service for \u{201C}\(item.filename)\u{201D}")
            }
            let password = try await fetchPassword(for: item.identifier)
            let bytes = try await readAll(item.identifier)
            try? await stopAccessing(item.identifier)
            return (bytes, password)
        } catch {
            // A provider that did not answer in time would keep the user waiting for one more answer. The
            // grant ends with the connection.
            if (error as? SocketError)?.code != .timedOut { try? await stopAccessing(item.identifier) }
            throw error
        }
    }
}
