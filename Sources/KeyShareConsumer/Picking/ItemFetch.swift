package import KeyShareClient
internal import KeyShareWire
internal import LocalSockets
package import SecretMemory
package import KeySharing
internal import OpenSSL

extension ProviderClient {
    /// An item's bytes and password, in the order that key sharing has: start accessing, pick the password
    /// service by its name, fetch the password, read, stop accessing. Access is stopped on every path.
    ///
    /// Where the grant ends on the way, as when the password was rotated, all of it is done once more.
    ///
    /// - Throws: `ImportError` `.noPasswordService`, `ProviderFailure`, `SocketError`.
    package func fetch(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        _ = try await startAccessing(item.identifier)
        do {
            return try await fetchGranted(item)
        } catch let failure as ProviderFailure where failure.code == .notAvailable {
            // It is there no more, or it is granted no more; which of them the next answer tells.
            _ = try await startAccessing(item.identifier)
            return try await fetchGranted(item)
        }
    }

    private func fetchGranted(_ item: Item) async throws -> (bytes: [UInt8], password: SecretBytes) {
        do {
            // The order of services means nothing; only the one of this name has the right password.
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
            // One that did not answer would keep the user waiting for this answer too; the grant ends with the
            // connection.
            if (error as? SocketError)?.code != .timedOut { try? await stopAccessing(item.identifier) }
            throw error
        }
    }
}
