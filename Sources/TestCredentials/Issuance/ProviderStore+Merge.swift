package import DeviceSimulation
package import KeyShareProvider
internal import SecretMemory

extension ProviderStore {
    /// Adds everything that another keychain holds, authorities and their register included; what is here
    /// already stays as it is.
    ///
    /// The register comes first: no revoked certificate is ever here as a good one.
    ///
    /// - Parameter progress: called with the number of identities looked at so far.
    /// - Returns: how many identities were new.
    /// - Throws: `KeychainError`.
    package func merge(_ other: ProviderStore, progress: (Int) -> Void = { _ in }) throws(KeychainError)
        -> Int
    {
        try add(toRegister: try other.register())
        var added = 0
        var seen = 0
        for group in [App.authorityGroup, sharedGroup] {
            var last: Int64 = 0
            while true {
                let stretch = try other.keychain.identityAttributes(
                    after: last, limit: 256, accessGroup: group)
                guard let end = stretch.last else { break }
                last = end.id
                var identities: [NewIdentity] = []
                for attributes in stretch {
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
                    seen += stretch.count
                    progress(seen)
                }
            }
        }
        return added
    }

    /// What an unfinished run of provisioning left for the one that goes on with it.
    ///
    /// - Parameter make: makes it where there is none.
    /// - Throws: `KeychainError`.
    func unfinishedRun(_ name: String, make: () -> SecretBytes) throws(KeychainError) -> SecretBytes {
        try keychain.createOrReadPassword(
            service: Self.runService, account: name, accessGroup: App.authorityGroup, make: make)
    }

    /// Forgets an unfinished run.
    ///
    /// - Throws: `KeychainError`.
    func finishRun(_ name: String) throws(KeychainError) {
        try keychain.deletePassword(service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    private static let runService = "KeyShareProvisioning"
}
