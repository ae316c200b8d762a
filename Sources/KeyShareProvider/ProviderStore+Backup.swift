package import DeviceSimulation
internal import OpenSSL

/// Why a backup was not taken: an identity in it is not sound.
package struct UnsoundBackup: Error {
    /// What is wrong with it.
    package let problems: [IntegrityProblem]
}

extension ProviderStore {
    /// Writes what the provider holds (identities, authorities and password) as it is at this moment to a file,
    /// mode 0600. A provider may be serving, and others may be writing.
    ///
    /// - Parameters:
    ///   - keyPath: where the key goes, mode 0600, that opens on another device what may leave this one; nil for
    ///     nowhere.
    ///   - replacing: whether files that are there go.
    /// - Throws: as `Device.backUpKeychain`.
    /// - Returns: how many items there are.
    package func backUp(to path: String, keyPath: String? = nil, replacing: Bool = false) throws -> Int {
        try device.backUpKeychain(
            to: path, keyPath: keyPath, groups: keychain.app.accessGroups, replacing: replacing
        ).items
    }

    /// Puts what a backup holds in place of what is here, once each identity was found sound.
    ///
    /// - Parameters:
    ///   - keyPath: the file of the backup's key; nil for a backup of this device.
    ///   - replacing: whether what is here goes.
    /// - Throws: as `Device.restoreKeychain`; `UnsoundBackup`. Nothing is changed then.
    package func restore(
        from path: String, keyPath: String? = nil, replacing: Bool = false
    ) throws -> KeychainRestoration {
        let result = try device.restoreKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: keychain.app.accessGroups,
            replacing: replacing
        ) { [sharedGroup] identity in
            let attributes = identity.record.attributes
            let problems = Self.problems(
                of: identity, attributes, isPublished: attributes.accessGroup == sharedGroup)
            guard problems.isEmpty else { throw UnsoundBackup(problems: problems) }
        }
        tellOfChange()
        try? Notifications(device: device).post(Notifications.passwordChanged)
        return result
    }
}
