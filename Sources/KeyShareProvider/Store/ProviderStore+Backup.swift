package import DeviceSimulation
internal import Foundation
internal import OpenSSL
package import SimulatedKeychain

extension ProviderStore {
    /// Writes a consistent copy of the provider's data (identities, authorities, service password) to a file of mode
    /// 0600. This is safe while a provider is serving and while other processes write to the keychain.
    ///
    /// - Parameters:
    ///   - path: The backup file.
    ///   - keyPath: The key file, mode 0600, which opens the transferable items on another device; nil for no key.
    ///   - replacing: Whether existing files are replaced.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.backUpKeychain`.
    /// - Returns: The number of items in the backup.
    package func backUp(to path: String, keyPath: String? = nil, replacing: Bool = false) throws -> Int {
        try device.backUpKeychain(
            to: path, keyPath: keyPath, groups: keychain.app.accessGroups, replacing: replacing
        ).items
    }

    /// Checks each identity in a backup, replaces the provider's data with the contents of the backup, and notifies
    /// observers.
    ///
    /// - Parameters:
    ///   - path: The backup.
    ///   - keyPath: The backup's key file; nil for a backup of this device.
    ///   - replacing: Whether existing items are replaced. If false, existing items cause an error.
    ///   - report: Called with each problem of the first defective identity.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.restoreKeychain`; `CancellationError` if an identity is
    ///   defective, after `report` was called. In these cases, nothing is changed.
    package func restore(
        from path: String, keyPath: String? = nil, replacing: Bool = false,
        report: (IntegrityProblem) -> Void = { _ in }
    ) throws -> KeychainRestoration {
        let result = try device.restoreKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: keychain.app.accessGroups,
            replacing: replacing, check: { try Self.requireSound($0, report: report) })
        try TokenStore(self).reconcile()
        announceChange()
        servicePassword.postChange()
        return result
    }

    /// Replaces a damaged keychain with a new one, and keeps the damaged file. The new keychain contains the provider's
    /// items from a backup, and all readable records of other apps. Key grants for lost entries of Android's KeyChain end.
    /// No provider may be serving.
    ///
    /// - Parameters:
    ///   - device: The device whose keychain is replaced.
    ///   - path: The backup; nil for an empty provider.
    ///   - keyPath: The backup's key file; nil for a backup of this device.
    ///   - report: Called with each problem of the backup's first defective identity.
    ///   - replaced: Called when the keychain is replaced. An error that is thrown later does not undo this.
    /// - Throws: `DeviceError` and `KeychainError`, as `Device.recoverKeychain`; `CancellationError` if an identity is
    ///   defective, after `report` was called. Nothing is changed if this throws before `replaced` was called.
    package static func recover(
        _ device: Device, from path: String?, keyPath: String? = nil,
        report: (IntegrityProblem) -> Void = { _ in }, replaced: (KeychainRecovery) -> Void = { _ in }
    ) throws -> KeychainRecovery {
        let recovery = try device.recoverKeychain(
            fromBackup: path, key: try keyPath.map(Device.backupKey), groups: App.provider.accessGroups,
            check: { try requireSound($0, report: report) })
        replaced(recovery)
        let store = try ProviderStore(device)
        try TokenStore(store).reconcile()
        // If this fails, installing an entry ends the grants of its alias.
        try? AndroidKeyChain(existingOn: device) { Date() }?.forgetGrantsWithoutEntry()
        store.announceChange()
        store.servicePassword.postChange()
        return recovery
    }

    /// Checks all authorities and published identities in the same way as ``restore(from:keyPath:replacing:report:)``
    /// checks those of a backup. Reads 256 at a time.
    ///
    /// - Parameter report: Called with each problem of the first defective identity.
    /// - Throws: `KeychainError` if the keychain cannot be read, a record was altered, or the device's state makes keys
    ///   inaccessible; `CancellationError` if an identity is defective, after `report` was called.
    package func requireSound(report: (IntegrityProblem) -> Void) throws {
        for group in [App.authorityGroup, sharedGroup] {
            var last: Int64 = 0
            while true {
                let batch = try keychain.identityAttributes(after: last, limit: 256, accessGroup: group)
                guard let end = batch.last else { break }
                last = end.id
                for attributes in batch {
                    let opened = try keychain.openIdentity(label: attributes.label, accessGroup: group)
                    try Self.requireSound(opened, report: report)
                }
            }
        }
    }

    private static func requireSound(
        _ identity: OpenedIdentity, report: (IntegrityProblem) -> Void
    ) throws(CancellationError) {
        let attributes = identity.record.attributes
        try requireNone(
            of: problems(
                of: identity, attributes, isPublished: attributes.accessGroup == App.publishedGroup),
            report: report)
    }

    /// Reports problems, and throws `CancellationError` if there are any.
    static func requireNone(
        of problems: [IntegrityProblem], report: (IntegrityProblem) -> Void
    ) throws(CancellationError) {
        guard !problems.isEmpty else { return }
        problems.forEach(report)
        // This error ends the change of the keychain. The caller has already received the problems.
        throw CancellationError()
    }
}
