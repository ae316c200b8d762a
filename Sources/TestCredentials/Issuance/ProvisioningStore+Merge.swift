internal import DeviceSimulation
package import KeyShareProvider
internal import SimulatedKeychain

extension ProvisioningStore {
    /// Adds all identities of another device's provider, its authorities and their register, and the registrations of
    /// its token. Existing entries are not changed.
    ///
    /// All identities and registrations are checked before anything is added. The register is merged first, so that
    /// this keychain never contains a revoked certificate without its revocation.
    ///
    /// - Parameters:
    ///   - progress: Receives the number of published identities added so far, including those that already existed.
    ///   - report: Called with each problem of the first defective identity or registration.
    /// - Returns: The number of new identities, including token-only identities, and the number of new tokens.
    /// - Throws: `CancellationError` if an identity or registration of the other device is defective, after `report`
    ///   was called; `KeychainError` if one keychain cannot be read or the other cannot be written. If an identity is
    ///   defective, a record was altered, or a device's state makes the keys of its token unavailable, nothing is
    ///   added.
    package func merge(
        _ other: ProviderStore, progress: (Int) -> Void = { _ in },
        report: (IntegrityProblem) -> Void = { _ in }
    ) throws -> (added: Int, registered: Int) {
        let (tokens, theirs) = (TokenStore(provider), TokenStore(other))
        try tokens.requireMergeable(theirs, report: report)
        try other.requireSound(report: report)
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
                for listed in batch where !alone.contains(listed.label) {
                    let opened = try other.keychain.openIdentity(label: listed.label, accessGroup: group)
                    // Unlike those of the list, these were authenticated with the key.
                    let attributes = opened.record.attributes
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
