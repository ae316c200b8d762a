package import KeyShareClient
internal import KeyShareProtocol
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
package import SecretMemory

extension ProviderClient {
    /// Fetches the bytes and the password of an item (docs/rules.md R6.2). Starts accessing the item, selects the
    /// password service by name (R6.3), fetches the password, reads the bytes, and always stops accessing the item.
    ///
    /// If the grant ends in the meantime, for example because the password was replaced, all steps are repeated once
    /// (R6.10).
    ///
    /// - Throws: `ImportError` `.noPasswordService`; `ProviderFailure`, `SocketError`.
    package func fetch(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        var isFirst = true
        while true {
            _ = try await startAccessing(item.identifier)
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
                // After a timeout, another request would only delay the user further. The grant ends with the
                // connection.
                if (error as? SocketError)?.code != .timedOut { try? await stopAccessing(item.identifier) }
                // Either the item no longer exists or the grant has ended; the next attempt shows which.
                guard isFirst, (error as? ProviderFailure)?.code == .notAvailable else { throw error }
                isFirst = false
            }
        }
    }
}
