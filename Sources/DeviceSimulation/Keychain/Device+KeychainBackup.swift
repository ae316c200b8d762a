package import PrivateFiles
package import SecretMemory
internal import GRDB
private import Glibc

/// The result of restoring items to a device.
package struct KeychainRestoration: Sendable, Hashable {
    /// The number of items that were added.
    package var restored = 0
    /// The number of items that were left out: bound to another device, there already, or of other groups.
    package var left = 0
}

extension Device {
    /// Copies the keychain of `source` to this device, as restoring an encrypted backup to a new phone does: all items
    /// but those bound to their device. Items that are here already stay as they are.
    ///
    /// When this throws or is interrupted, this device's keychain is as it was. The source may be anybody's: its database
    /// is compared with the tables of a keychain before any row is read, and read within ``ForeignDatabaseLimits``.
    ///
    /// - Throws: `DeviceError.Code.locked` unless both devices are unlocked; `KeychainError` when either keychain fails
    ///   or an item of the source was altered; `FileError`.
    @discardableResult
    package func restoreKeychain(from source: Device) throws -> KeychainRestoration {
        for device in [self, source] {
            try device.requireUnlocked()
        }
        guard let backup = try KeychainStore(foreign: source) else { return KeychainRestoration() }
        let target = try KeychainStore(device: self, newMasterKey: MasterKey.random)
        return try backup.read { database in
            let rows = try KeychainRecord.fetchAll(database)
            return try target.write { restored in
                try target.insert(rows, to: restored) { row in
                    let opened = try KeychainRecord.secret(row, key: backup.key)
                    return try opened.record.accessibility().isThisDeviceOnly ? nil : opened
                }
            }
        }
    }

    /// Writes the keychain as it is at one moment to a new file, mode 0600. Others may go on reading and writing.
    ///
    /// Every item is opened, so that an alteration is noticed now and not when the backup is needed. Items bound to
    /// this device are encrypted with the master key, which the backup does not hold. The others are encrypted with a
    /// key made for this backup. The file holds that key, encrypted with the master key: on this device the backup
    /// opens by itself, elsewhere with the returned key. Items that need a passcode are in no backup, because a
    /// restore would bring them back after the passcode was removed.
    ///
    /// - Parameters:
    ///   - path: the backup's file, which is written whole or not at all.
    ///   - keyPath: a file for the returned key, mode 0600; nil for none. The key is written before the backup, so that
    ///     there is never a backup whose key could not be written.
    ///   - groups: the access groups whose items are backed up; nil for all.
    ///   - replacing: whether existing files are replaced.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.backupInsideDevice` or `.keyInBackupFile`,
    ///   with nothing written. `FileError`: `.unsuitablePath`, `.alreadyThere`, `.cannotCreate`, `.inputOutput`.
    ///   `KeychainError` when the keychain fails or an item was altered.
    /// - Returns: the number of items in the backup, and the key to those that may leave the device.
    package func backUpKeychain(
        to path: String, keyPath: String? = nil, groups: [String]? = nil, replacing: Bool = false
    ) throws -> (items: Int, key: SecretBytes) {
        try requireSuitable(path, keyPath, replacing: replacing)
        try requireUnlocked()
        let store = try KeychainStore(device: self, newMasterKey: MasterKey.random)
        let key = MasterKey.random()
        var count = 0
        try AtomicFile.write(to: path, replacing: replacing) { temporary in
            // One read transaction gives one moment; in WAL mode no writer waits for it.
            count = try store.read { database in
                try KeychainBackup.write(
                    try KeychainRecord.fetchAll(
                        database, groups: groups, except: .whenPasscodeSetThisDeviceOnly),
                    of: store, key: key, to: temporary)
            }
            // The key is written last, so that an earlier key stays as long as the earlier backup.
            if let keyPath { try AtomicFile.write(key, to: keyPath, replacing: replacing) }
        }
        return (count, key)
    }

    /// Refuses paths where backup and key would overwrite each other or files of the device.
    private func requireSuitable(
        _ path: String, _ keyPath: String?, replacing: Bool
    ) throws {
        for path in [path] + (keyPath.map { [$0] } ?? []) {
            let destination = FileDestination(path)
            try destination.requireFile()
            guard !destination.isInside(folder) else {
                throw DeviceError(
                    .backupInsideDevice, path: path, "\(path) is in the device's own folder")
            }
            // Checked here too, before a key is written for a backup that could not be.
            guard replacing || !destination.isTaken else {
                throw FileError(.alreadyThere, path: path, "\(path) is there already")
            }
        }
        if let keyPath, FileDestination(path).isSame(as: FileDestination(keyPath)) {
            throw DeviceError(
                .keyInBackupFile, path: keyPath, "backup and key would be one file, \(keyPath)")
        }
    }

    /// Replaces items of the keychain by those of a backup. When this throws or is interrupted, the keychain is as it
    /// was. Items of another device's backup that are bound to that device are left out.
    ///
    /// - Parameters:
    ///   - path: a file that ``backUpKeychain(to:keyPath:groups:replacing:)`` wrote.
    ///   - key: the key that the backup returned; nil for a backup of this device.
    ///   - groups: the access groups whose items are replaced; nil for all.
    ///   - replacing: whether existing items of the groups are replaced, rather than a reason to refuse.
    ///   - check: called with each identity of the backup; throws to refuse the backup.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.noBackup`; `.foreignBackup` where the key is
    ///   missing; `.wrongBackupKey`; `.nothingForThisDevice` where every item would be left out; `.keychainNotEmpty`.
    ///   `KeychainError` when an item was altered or the keychain fails; `FileError`; what `check` throws.
    package func restoreKeychain(
        fromBackup path: String, key: SecretBytes? = nil, groups: [String]? = nil, replacing: Bool = false,
        check: (OpenedIdentity) throws -> Void = { _ in }
    ) throws -> KeychainRestoration {
        try requireUnlocked()
        return try restore(
            to: try KeychainStore(device: self, newMasterKey: MasterKey.random), fromBackup: path, key: key,
            groups: groups, replacing: replacing, check: check)
    }

    /// Replaces items of `store` by those of a backup, as ``restoreKeychain(fromBackup:key:groups:replacing:check:)``
    /// does for the device's own keychain.
    func restore(
        to store: KeychainStore, fromBackup path: String, key: SecretBytes?, groups: [String]?,
        replacing: Bool,
        check: (OpenedIdentity) throws -> Void
    ) throws -> KeychainRestoration {
        let backup = try KeychainBackup(path, master: store.key, key: key)
        do {
            return try backup.queue.read { database in
                let rows = try KeychainRecord.fetchAll(database)
                return try store.transaction { target in
                    let removed = try KeychainRecord.deleteAll(in: target, groups: groups)
                    guard removed.isEmpty || replacing else {
                        throw DeviceError(
                            .keychainNotEmpty, path: folder, "the keychain is not empty")
                    }
                    let result = try store.insert(rows, to: target) { row in
                        let opened = try backup.open(row)
                        guard let opened, groups?.contains(opened.record.accessGroup) != false else {
                            return nil
                        }
                        if opened.record.itemClass == ItemClass.identity.rawValue {
                            try check(
                                OpenedIdentity(
                                    record: try IdentityRecord(opened.record), privateKey: opened.secret))
                        }
                        return opened
                    }
                    guard result.restored > 0 || result.left == 0 else {
                        throw DeviceError(
                            .nothingForThisDevice, path: path, "nothing in the backup is for this device")
                    }
                    // A group that lost its items and got none has changed too.
                    try KeychainRecord.countChange(of: removed, in: target)
                    return result
                }
            }
        } catch let error as DatabaseError {
            throw KeychainError(error)
        }
    }

    /// Reads the key to a backup from the file that was written with the backup.
    ///
    /// - Throws: `FileError`: `.inputOutput` when there is no file; `.exposedFile`, `.foreignOwner`, `.symbolicLink` or
    ///   `.damagedFile`.
    package static func backupKey(_ path: String) throws(FileError) -> SecretBytes {
        guard let key = try MasterKey.read(path) else {
            throw .inputOutput("cannot open", path, errno: ENOENT)
        }
        return key
    }

    /// Refuses to go on unless the device is unlocked.
    ///
    /// - Throws: `DeviceError.Code.locked`; `FileError` where the state cannot be read.
    func requireUnlocked() throws {
        let state = try state()
        guard state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: folder, "the device in \(folder) is \(state.phrase)")
        }
    }
}

extension KeychainStore {
    /// Adds the items of `rows`, each under a new id.
    ///
    /// - Parameter open: decrypts an item; nil for an item that is left out.
    fileprivate func insert(
        _ rows: RowCursor, to database: Database,
        open: (Row) throws -> (record: KeychainRecord, secret: SecretBytes)?
    ) throws -> KeychainRestoration {
        var result = KeychainRestoration()
        var groups: Set<String> = []
        while let row = try rows.next() {
            guard let opened = try open(row) else {
                result.left += 1
                continue
            }
            var record = opened.record
            record.id = try KeychainRecord.reserveIDs(1, in: database)
            if try record.insert(opened.secret, into: database, key: key) {
                result.restored += 1
                groups.insert(record.accessGroup)
            } else {
                result.left += 1
            }
        }
        try KeychainRecord.countChange(of: groups, onlyAdding: true, in: database)
        return result
    }
}

extension KeychainRecord {
    /// Gives the items of all apps, or of `groups`, in the order in which they were added.
    fileprivate static func fetchAll(
        _ database: Database, groups: [String]? = nil, except accessibility: Accessibility? = nil
    ) throws -> RowCursor {
        let condition = groups.map { "AND accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try Row.fetchCursor(
            database,
            sql: "SELECT \(columns), sealed FROM item WHERE accessible IS NOT ? \(condition) ORDER BY id",
            arguments: StatementArguments([accessibility?.rawValue] + (groups ?? [])))
    }

    /// Deletes the items of the groups, nil for all, and gives the groups that had any.
    fileprivate static func deleteAll(in database: Database, groups: [String]?) throws -> Set<String> {
        let condition =
            groups.map { "WHERE accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try String.fetchSet(
            database, sql: "DELETE FROM item \(condition) RETURNING accessGroup",
            arguments: StatementArguments(groups ?? []))
    }
}
