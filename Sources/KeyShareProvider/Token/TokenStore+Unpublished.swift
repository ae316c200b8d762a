internal import CertificateReading
internal import DeviceSimulation
internal import KeySharing
internal import OpenSSL
internal import PersistentToken
package import SimulatedKeychain

// Token-only identities are registered as tokens and not published by key sharing. They exist only in their
// registrations.

extension TokenStore {
    /// Returns the registrations whose identities key sharing does not publish, in the order in which they were
    /// created.
    ///
    /// - Throws: `KeychainError`; `CertificateError` if OpenSSL rejects a certificate.
    package func unpublished() throws -> [TokenRegistration] {
        let registrations = try registrations()
        guard !registrations.isEmpty else { return [] }
        let published = try publishedLabels()
        return registrations.filter { !published.contains($0.label) }
    }

    /// Whether key sharing publishes the identity with a label.
    ///
    /// - Throws: `KeychainError`.
    package func isPublished(_ label: String) throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            _ = try store.keychain.identity(label: label, accessGroup: store.sharedGroup)
            return true
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return false
        }
    }

    /// Registers renewed identities, so that they are also available as tokens after a renewal. If an older identity of
    /// a person and type is registered, the newest published identity of that person and type is registered with the
    /// same rule. The older identities remain registered.
    ///
    /// - Returns: The number of new registrations.
    /// - Throws: `KeychainError`; `CertificateError` and `OpenSSLError` if OpenSSL rejects an identity.
    package func registerRenewed() throws -> Int {
        let published = try publishedLabels()
        var registered: [IdentityOwner: TokenRegistration] = [:]
        for registration in try registrations() where published.contains(registration.label) {
            guard let owner = IdentityOwner(IdentitySummary(registration.certificate)) else { continue }
            let known = registered[owner]?.certificate.notBefore
            if known.map({ $0 < registration.certificate.notBefore }) ?? true {
                registered[owner] = registration
            }
        }
        guard !registered.isEmpty else { return 0 }
        var newest: [IdentityOwner: IdentitySummary] = [:]
        for identity in try store.identities() {
            guard let owner = IdentityOwner(identity), let known = registered[owner] else { continue }
            let latest = newest[owner]?.notBefore ?? known.certificate.notBefore
            if identity.notBefore > latest { newest[owner] = identity }
        }
        for (owner, identity) in newest {
            let opened = try store.identity(identity.label)
            try add(opened.certificate, opened.privateKey, rule: registered[owner]?.rule ?? .cryptoTokenKit)
        }
        return newest.count
    }

    private func publishedLabels() throws(KeychainError) -> Set<String> {
        Set(try store.keychain.identityAttributes(accessGroup: store.sharedGroup).map(\.label))
    }
}
