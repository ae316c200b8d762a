package import KeyShareClient
package import KeySharing
internal import KeyShareWire

extension ProviderClient {
    /// The identities whose files a container holds, by their labels; empty where the provider does not tell.
    ///
    /// - Throws: `ProviderFailure`, `SocketError`.
    package func identitiesByLabel(in container: String) async throws -> [String: IdentitySummary] {
        do {
            return (try await identities(in: container) ?? []).reduce(into: [:]) { $0[$1.label] = $1 }
        } catch let failure as ProviderFailure where failure.code == .notAvailable {
            // A change of the keychain between two pages. A list without names is better than none.
            return [:]
        }
    }
}
