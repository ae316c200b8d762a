internal import DeviceSimulation
package import KeyShareProvider
internal import SimulatedKeychain

extension ProvisioningStore {
    /// Adds all identities of another device's provider, its authorities and their register, and the registrations of
    /// its token. Existing entries are not changed.
    ///
    /// The register is merged first, so that this keychain never contains a revoked certificate without its revocation.
    ///
    /// - Parameter progress: Receives the number of published identities read so far.
    /// - Returns: The number of new identities, including token-only identities, and the number of new tokens.
    /// - Throws: `KeychainError` if one keychain cannot be read or the other cannot be written. If a device's state
    ///   makes the keys of its token unavailable, the error is thrown before anything is added. `CertificateError` and
    ///   `OpenSSLError` if OpenSSL rejects an identity.
    package func merge(
        _ other: ProviderStore, progress: (Int) -> Void = { _ in }
    ) throws -> (added: Int, registered: Int) {
        let (tokens, theirs) = (TokenStore(provider), TokenStore(other))
        try tokens.requireMergeable(theirs)
        // Key sharing must not start to publish identities that are token-only here.
        let alone = Set(try tokens.unpublished().map(\.label))
        try add(toRegister: try ProvisioningStore(other).register())
        var added = 0
        var seen = 0
        for group in [App.authorityGroup, provider.sharedGroup] {
            var last: Int64 = 0
            while true {
                let batch = try other.keychain.identityAttributes(
                    after: last, limit: 256, accessGroup: group)
                guard let end = batch.last else { break }
                last = end.id
                var identities: [Result<NewIdentity, any Error>] = []
                for attributes in batch where !alone.contains(attributes.label) {
                    let opened = try other.keychain.openIdentity(label: attributes.label, accessGroup: group)
                    identities.append(
                        .success(
                            NewIdentity(
                                label: attributes.label, certificate: opened.record.certificate,
                                privateKey: opened.privateKey, applicationTag: attributes.applicationTag,
                                notBefore: attributes.notBefore, accessibility: attributes.accessibility,
                                accessGroup: group)))
                }
                let outcomes = try provider.keychain.add(identities)
                if group == provider.sharedGroup { provider.announceChange(in: outcomes) }
                for outcome in outcomes where try outcome.isNew() {
                    added += group == provider.sharedGroup ? 1 : 0
                }
                if group == provider.sharedGroup {
                    seen += batch.count
                    progress(seen)
                }
            }
        }
        let merged = try tokens.merge(theirs)
        return (added + merged.alone, merged.registered)
    }
}
