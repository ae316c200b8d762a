internal import DeviceSimulation
package import KeyShareProvider

extension ProviderStore {
    /// Adds everything that the provider of another device holds, with authorities and their register, and with the
    /// registrations of its token. What both hold stays as it is here.
    ///
    /// The register is merged first, so that no revoked certificate is here without its revocation.
    ///
    /// - Parameter progress: receives the number of published identities read so far.
    /// - Returns: how many identities were new, those that are tokens alone among them, and how many tokens.
    /// - Throws: `KeychainError` where one keychain cannot be read or the other not be written, and before anything is
    ///   added where the state of a device keeps its token's keys closed; `CertificateError` and `OpenSSLError` where
    ///   OpenSSL refuses an identity.
    package func merge(
        _ other: ProviderStore, progress: (Int) -> Void = { _ in }
    ) throws -> (added: Int, registered: Int) {
        let (tokens, theirs) = (TokenStore(self), TokenStore(other))
        try tokens.requireMergeable(theirs)
        // Key sharing must not begin to publish what is a token alone here.
        let alone = Set(try tokens.unpublished().map(\.label))
        try add(toRegister: try other.register())
        var added = 0
        var seen = 0
        for group in [App.authorityGroup, sharedGroup] {
            var last: Int64 = 0
            while true {
                let batch = try other.keychain.identityAttributes(
                    after: last, limit: 256, accessGroup: group)
                guard let end = batch.last else { break }
                last = end.id
                var identities: [NewIdentity] = []
                for attributes in batch where !alone.contains(attributes.label) {
                    let opened = try other.keychain.openIdentity(label: attributes.label, accessGroup: group)
                    identities.append(
                        NewIdentity(
                            label: attributes.label, certificate: opened.record.certificate,
                            privateKey: opened.privateKey, applicationTag: attributes.applicationTag,
                            notBefore: attributes.notBefore, accessibility: attributes.accessibility,
                            accessGroup: group))
                }
                let results = try keychain.add(identities)
                if group == sharedGroup { tellOfChange(in: results) }
                for result in results {
                    switch result {
                    case .success: added += group == sharedGroup ? 1 : 0
                    case .failure(let error) where error.code == .duplicateItem: continue
                    case .failure(let error): throw error
                    }
                }
                if group == sharedGroup {
                    seen += batch.count
                    progress(seen)
                }
            }
        }
        let merged = try tokens.merge(theirs)
        return (added + merged.alone, merged.registered)
    }
}
