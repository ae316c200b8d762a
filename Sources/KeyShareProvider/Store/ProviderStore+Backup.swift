package import DeviceSimulation
internal import OpenSSL

extension ProviderStore {
    /// Writes everything that the provider holds at this moment (identities, authorities, service password) to a file
    /// of mode 0600. A provider may be serving, and others may be writing.
    ///
    /// - Parameters:
    ///   - path: the file for the backup.
    ///   - keyPath: the file for the key, mode 0600, that opens on another device what may leave this one;
    ///     nil for no key.
    ///   - replacing: whether existing files are replaced.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.backUpKeychain`.
    /// - Returns: how many items the backup holds.
    package func backUp(to path: String, keyPath: String? = nil, replacing: Bool = false) throws -> Int {
        try device.backUpKeychain(
            to: path, keyPath: keyPath, groups: keychain.app.accessGroups, replacing: replacing
        ).items
    }

    /// Replaces everything that the provider holds by the contents of a backup, once each identity was found sound,
    /// and tells observers.
    ///
    /// - Parameters:
    ///   - path: the backup.
    ///   - keyPath: the file of the backup's key; nil for a backup of this device.
    ///   - replacing: whether existing items are replaced.
    ///   - report: receives each problem of the first identity that is not sound.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.restoreKeychain`; `CancellationError` after
    ///   `report` was called. Nothing is changed then.
    package func restore(
        from path: String, keyPath: String? = nil, replacing: Bool = false,
        report: (IntegrityProblem) -> Void = { _ in }
    ) throws -> KeychainRestoration {
        let result = try device.restoreKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: keychain.app.accessGroups,
            replacing: replacing, check: { try Self.requireSound($0, report: report) })
        try TokenStore(self).reconcile()
        tellOfChange()
        servicePassword.postChange()
        return result
    }

    /// Replaces a damaged keychain, which is kept beside the new one: with the contents of a backup for the provider,
    /// and with what still opens for other apps. No provider may be serving.
    ///
    /// - Parameters:
    ///   - device: the device whose keychain is replaced.
    ///   - path: the backup; nil for a provider that holds nothing.
    ///   - keyPath: the file of the backup's key; nil for a backup of this device.
    ///   - report: receives each problem of the first identity of the backup that is not sound.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.recoverKeychain`; `CancellationError` after
    ///   `report` was called. Nothing is changed then.
    package static func recover(
        _ device: Device, from path: String?, keyPath: String? = nil,
        report: (IntegrityProblem) -> Void = { _ in }
    ) throws -> KeychainRecovery {
        let recovery = try device.recoverKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: App.provider.accessGroups,
            check: { try requireSound($0, report: report) })
        let store = try ProviderStore(device)
        try TokenStore(store).reconcile()
        store.tellOfChange()
        store.servicePassword.postChange()
        return recovery
    }

    private static func requireSound(
        _ identity: OpenedIdentity, report: (IntegrityProblem) -> Void
    ) throws(CancellationError) {
        let attributes = identity.record.attributes
        let problems = problems(
            of: identity, attributes, isPublished: attributes.accessGroup == App.publishedGroup)
        guard !problems.isEmpty else { return }
        problems.forEach(report)
        // Ends the transaction of the keychain; the caller knows the problems by then.
        throw CancellationError()
    }
}
