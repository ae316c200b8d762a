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
            replacing: replacing, check: Self.requireSound)
        tellOfChange()
        try? Notifications(device: device).post(Notifications.passwordChanged)
        return result
    }

    /// Puts a new keychain in place of a damaged one, which is kept: with what a backup holds of the provider, and
    /// what still opens of others. Nobody may be serving.
    ///
    /// - Parameters:
    ///   - path: the backup; nil for a provider that holds nothing.
    ///   - keyPath: the file of the backup's key; nil for a backup of this device.
    /// - Throws: as `Device.recoverKeychain`; `UnsoundBackup`. Nothing is changed then.
    package static func recover(
        _ device: Device, from path: String?, keyPath: String? = nil
    ) throws -> KeychainRecovery {
        let recovery = try device.recoverKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: App.provider.accessGroups,
            check: requireSound)
        let store = try ProviderStore(device)
        store.tellOfChange()
        try? Notifications(device: device).post(Notifications.passwordChanged)
        return recovery
    }

    private static func requireSound(_ identity: OpenedIdentity) throws {
        let attributes = identity.record.attributes
        let published = App.provider.entitlements.keychainAccessGroups[0]
        let problems = problems(
            of: identity, attributes, isPublished: attributes.accessGroup == published)
        guard problems.isEmpty else { throw UnsoundBackup(problems: problems) }
    }
}
