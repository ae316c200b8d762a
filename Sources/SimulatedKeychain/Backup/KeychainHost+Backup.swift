package import PrivateFiles
package import SecretMemory
private import Foundation
internal import GRDB
private import Glibc

/// The result of restoring items to a device.
package struct KeychainRestoration: Sendable, Hashable {
    /// The number of items that were added.
    package var restored = 0
    /// The number of omitted items: bound to another device, already present, or in other groups.
    package var left = 0
}

extension KeychainHost {
    /// Copies the keychain of `source` to this device, except the items that are bound to their device, like restoring
    /// an encrypted backup to a new phone. Existing items are not changed. Registrations of the provider's token are not
    /// copied, because their keys are bound to their device.
    ///
    /// If this throws or is interrupted, this device's keychain is unchanged. The source is untrusted: before any row
    /// is read, the tables of its database are compared with those of a keychain. Rows are read within
    /// ``ForeignDatabaseLimits``.
    ///
    /// - Throws: `DeviceError.Code.locked` unless both devices are unlocked; `KeychainError` if either
    ///   keychain fails or an item of the source was altered; `FileError`.
    @discardableResult
    package func restoreKeychain(from source: some KeychainHost) throws -> KeychainRestoration {
        try requireUnlocked()
        try source.requireUnlocked()
        guard let backup = try KeychainStore.existing(on: source, for: .foreignReading) else {
            return KeychainRestoration()
        }
        let target = try KeychainStore(on: self)
        return try backup.read { database in
            let rows = try KeychainRecord.fetchAll(database)
            return try target.write { restored in
                try target.insert(rows, to: restored) { row in
                    let opened = try KeychainRecord.secret(row, key: backup.key)
                    let isRegistration = opened.record.accessGroup == App.tokenGroup
                    return try isRegistration || opened.record.accessibility().isThisDeviceOnly
                        ? nil : opened
                }
            }
        }
    }

    /// Writes a consistent snapshot of the keychain to a new file, mode 0600. Other processes may continue to
    /// read and write.
    ///
    /// Every item is decrypted, so that an alteration is detected now and not when the backup is needed. Items bound to
    /// this device are encrypted with the master key, which the backup does not contain. All other items are encrypted
    /// with a new key for this backup. The file contains that key, encrypted with the master key. This device can
    /// therefore restore the backup without another key; other devices need the returned key. Items that require a
    /// passcode are never in a backup, because a restore would bring them back after the passcode was removed.
    ///
    /// - Parameters:
    ///   - path: The backup's file, which is written completely or not at all.
    ///   - keyPath: A file for the returned key, mode 0600; nil for no file. The key is written before the
    ///     backup, so that there is never a backup whose key could not be written.
    ///   - groups: The access groups of the backup; nil for all.
    ///   - replacing: Whether existing files are replaced.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.backupInsideDevice` or
    ///   `.keyInBackupFile`, with no file written. `FileError`: `.unsuitablePath`, `.alreadyThere`,
    ///   `.cannotCreate`, `.inputOutput`. `KeychainError` if the keychain fails or an item was altered.
    /// - Returns: The number of items in the backup, and the key for the items that may leave the device.
    package func backUpKeychain(
        to path: String, keyPath: String? = nil, groups: [String]? = nil, replacing: Bool = false
    ) throws -> (items: Int, key: SecretBytes) {
        try requireSuitable(path, keyPath, replacing: replacing)
        try requireUnlocked()
        let store = try KeychainStore(on: self)
        let key = MasterKey.random()
        var count = 0
        // SQLite opens files by their names, so it writes to a private folder. On a read-only or full device, the
        // system's folder may still have room.
        let temporary = FileManager.default.temporaryDirectory.path
        let draft = try UnnamedFile(in: temporary) { draft in
            // One read transaction is a consistent snapshot; in WAL mode no writer waits for it.
            count = try store.read { database in
                let rows = try KeychainRecord.fetchAll(
                    database, groups: groups, except: .whenPasscodeSetThisDeviceOnly)
                do {
                    return try KeychainBackup.write(rows, of: store, key: key, to: draft)
                } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
                    // Not the keychain's file system.
                    throw FileError.inputOutput("cannot write a temporary file in", temporary, errno: ENOSPC)
                }
            }
        }
        try AtomicFile.write(to: path, replacing: replacing) { descriptor throws(FileError) in
            try OpenFile.copy(draft.descriptor, to: descriptor, named: path)
            // The key is written last, so that an earlier key is kept as long as the earlier backup.
            if let keyPath { try AtomicFile.write(key, to: keyPath, replacing: replacing) }
        }
        return (count, key)
    }

    /// Throws if the backup and the key would overwrite each other or files of the device.
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
            // This is checked before the key is written, so that no key is written without a backup.
            guard replacing || !destination.isTaken else {
                throw FileError(.alreadyThere, path: path, "\(path) already exists")
            }
        }
        if let keyPath, FileDestination(path).isSame(as: FileDestination(keyPath)) {
            throw DeviceError(
                .keyInBackupFile, path: keyPath, "the backup and its key would be the same file, \(keyPath)")
        }
    }

    /// Replaces items of the keychain with those of a backup. If this throws or is interrupted, the keychain is
    /// unchanged. Items that are bound to another device are omitted.
    ///
    /// Another device's registrations of the provider's token cannot be used without their keys, which are in no backup.
    /// If a backup contains no other item for this device, it is rejected.
    ///
    /// - Parameters:
    ///   - path: A file that ``backUpKeychain(to:keyPath:groups:replacing:)`` wrote.
    ///   - key: The key that ``backUpKeychain(to:keyPath:groups:replacing:)`` returned; nil for a backup of this
    ///     device.
    ///   - groups: The access groups whose items are replaced; nil for all.
    ///   - replacing: Whether existing items of the groups are replaced. If false, they cause an error.
    ///   - check: Called with each identity of the backup; throws to reject the backup.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.noBackup`, also if an item was altered or a
    ///   certificate item cannot be decoded; `.foreignBackup` if the key is missing; `.wrongBackupKey`;
    ///   `.nothingForThisDevice` if no item can be used on this device; `.keychainNotEmpty`. `KeychainError` if the
    ///   keychain fails; `FileError`; the error of `check`.
    package func restoreKeychain(
        fromBackup path: String, key: SecretBytes? = nil, groups: [String]? = nil, replacing: Bool = false,
        check: (OpenedIdentity) throws -> Void = { _ in }
    ) throws -> KeychainRestoration {
        try requireUnlocked()
        return try restore(
            to: try KeychainStore(on: self), fromBackup: path, key: key,
            groups: groups, replacing: replacing, check: check)
    }

    /// Replaces items of `store` with those of a backup, like
    /// ``restoreKeychain(fromBackup:key:groups:replacing:check:)`` for the device's own keychain.
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
                    // The registrations in another device's backup, whose keys are missing.
                    var unusable = 0
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
                        if opened.record.itemClass == ItemClass.certificate.rawValue {
                            try backup.requireCertificate(opened.record)
                            if !backup.isOwn, opened.record.accessGroup == App.tokenGroup { unusable += 1 }
                        }
                        return opened
                    }
                    guard result.restored > unusable || result.left + unusable == 0 else {
                        throw DeviceError(
                            .nothingForThisDevice, path: path, "the backup contains no item for this device")
                    }
                    // This also counts groups that lost their items and got no new ones.
                    try KeychainRecord.countChange(of: removed, in: target)
                    return result
                }
            }
        } catch let error as DatabaseError {
            throw KeychainError(error)
        }
    }

    /// Reads the key of a backup from the file that was written with the backup.
    ///
    /// - Throws: `FileError`: `.inputOutput` if there is no file; `.exposedFile`, `.foreignOwner`,
    ///   `.symbolicLink` or `.damagedFile`.
    package static func backupKey(_ path: String) throws(FileError) -> SecretBytes {
        guard let key = try MasterKey.read(path) else {
            throw .inputOutput("cannot open", path, errno: ENOENT)
        }
        return key
    }

    /// Throws unless the device is unlocked.
    ///
    /// - Throws: `DeviceError.Code.locked`; `FileError` if the state cannot be read.
    func requireUnlocked() throws {
        let state = try state()
        guard state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: folder, "the device in \(folder) is \(state.phrase)")
        }
    }
}

extension KeychainStore {
    /// Adds the items of `rows`, each with a new id.
    ///
    /// - Parameter open: Decrypts an item; returns nil to omit the item.
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
    /// Returns the items of all apps, or only those of `groups`, in the order in which they were added.
    fileprivate static func fetchAll(
        _ database: Database, groups: [String]? = nil, except accessibility: Accessibility? = nil
    ) throws -> RowCursor {
        let condition = groups.map { "AND accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try Row.fetchCursor(
            database,
            sql: "SELECT \(columns), sealed FROM item WHERE accessible IS NOT ? \(condition) ORDER BY id",
            arguments: StatementArguments([accessibility?.rawValue] + (groups ?? [])))
    }

    /// Deletes the items of `groups`, or all items if it is nil. Returns the groups that had items.
    fileprivate static func deleteAll(in database: Database, groups: [String]?) throws -> Set<String> {
        let condition =
            groups.map { "WHERE accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try String.fetchSet(
            database, sql: "DELETE FROM item \(condition) RETURNING accessGroup",
            arguments: StatementArguments(groups ?? []))
    }
}
