package import KeyShareClient
internal import KeyShareProtocol
package import KeySharing
internal import KeyShareWire

extension ProviderClient {
    /// The identities in a container, keyed by label; empty if the provider does not support the request.
    ///
    /// - Throws: `ProviderFailure`, `SocketError`.
    package func identitiesByLabel(in container: String) async throws -> [String: IdentitySummary] {
        do {
            return (try await identities(in: container) ?? []).reduce(into: [:]) { $0[$1.label] = $1 }
        } catch let failure as ProviderFailure where failure.code == .notAvailable {
            // The keychain changed between two pages. The caller then shows the list without names instead of no list.
            return [:]
        }
    }
}
