package import DeviceSimulation
package import KeyShareProvider

extension ProviderStore {
    /// Adds everything that the provider of another device holds, with authorities and their register. What both hold
    /// stays as it is here.
    ///
    /// The register is merged first, so that no revoked certificate is here without its revocation.
    ///
    /// - Parameter progress: receives the number of identities read so far.
    /// - Returns: how many identities were new.
    /// - Throws: `KeychainError` where one keychain cannot be read or the other not be written.
    package func merge(_ other: ProviderStore, progress: (Int) -> Void = { _ in }) throws(KeychainError)
        -> Int
    {
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
                for attributes in batch {
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
        return added
    }
}
