package import PrivateFiles
package import SecretMemory
internal import GRDB
private import Glibc

/// What came of bringing items to a device.
package struct KeychainRestoration: Sendable, Hashable {
    /// Items that came.
    package var restored = 0
    /// Items that stayed behind: of another device alone, there already, or of none of the groups.
    package var left = 0
}

extension Device {
    /// Brings the keychain of `source` to this device, as restoring an encrypted backup to a new phone does:
    /// everything but what stays on its own device. Items that are here already stay as they are.
    ///
    /// All or nothing: interrupted, this device is as it was.
    ///
    /// - Throws: `DeviceError`: `.locked` unless both devices are unlocked. `KeychainError` when either keychain
    ///    fails, or an item of the source was altered.
    @discardableResult
    package func restoreKeychain(from source: Device) throws -> KeychainRestoration {
        for device in [self, source] {
            try device.requireUnlocked()
        }
        let backup = try KeychainStore(device: source, newMasterKey: MasterKey.random)
        let target = try KeychainStore(device: self, newMasterKey: MasterKey.random)
        return try backup.read { database in
            let rows = try KeychainRecord.fetchAll(database)
            return try target.write { restored in
                try target.bring(rows, to: restored) { row in
                    let opened = try KeychainRecord.secret(row, key: backup.key)
                    return try opened.record.accessibility().isThisDeviceOnly ? nil : opened
                }
            }
        }
    }

    /// Writes the keychain as it is at this moment to a new file, mode 0600, whatever else reads and writes it
    /// meanwhile.
    ///
    /// Every item is opened on the way, so that what was altered is noticed now and not when it is needed. Items
    /// that stay on this device are sealed with its master key, which leaves it in no form. The others, which may
    /// leave it, are sealed with a key made for this backup, and that is in the file under the master key: here
    /// the backup opens by itself, elsewhere with the key that this returns. What is kept only while there is a
    /// passcode is in no backup, as it would come back after the passcode went.
    ///
    /// - Parameters:
    ///   - path: there whole or not at all.
    ///   - keyPath: where the returned key goes too, mode 0600; nil for nowhere. It is there before the backup, so
    ///     that there is never a backup whose key could not be written.
    ///   - groups: the access groups whose items are backed up; nil for all.
    ///   - replacing: whether files that are there go.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.unsuitablePath`, with nothing written,
    ///   where the two are one file, one is in the device's folder, or something else than a file is there;
    ///   `.alreadyThere`, or what stops the files. `KeychainError` when the keychain fails or an item was altered.
    /// - Returns: how many items there are, and the key to those that may leave the device.
    package func backUpKeychain(
        to path: String, keyPath: String? = nil, groups: [String]? = nil, replacing: Bool = false
    ) throws -> (items: Int, key: SecretBytes) {
        try requireSuitable(path, keyPath, replacing: replacing)
        try requireUnlocked()
        let store = try KeychainStore(device: self, newMasterKey: MasterKey.random)
        let key = MasterKey.random()
        var count = 0
        try AtomicFile.write(to: path, replacing: replacing) { temporary in
            // Within one transaction, so that it is of one moment; nobody's writing waits for it.
            count = try store.read { database in
                try KeychainBackup.write(
                    try KeychainRecord.fetchAll(
                        database, groups: groups, except: .whenPasscodeSetThisDeviceOnly),
                    of: store, key: key, to: temporary)
            }
            // Last, so that an earlier key stays as long as its backup does.
            if let keyPath { try AtomicFile.write(key, to: keyPath, replacing: replacing) }
        }
        return (count, key)
    }

    /// Refuses places where a backup and its key would destroy each other, or the device.
    private func requireSuitable(
        _ path: String, _ keyPath: String?, replacing: Bool
    ) throws {
        for path in [path] + (keyPath.map { [$0] } ?? []) {
            let place = FileDestination(path)
            try place.requireFile()
            guard !place.isInside(folder) else {
                throw DeviceError(
                    .backupInsideDevice, path: path, "\(path) is in the device's own folder")
            }
            // Before the key is written for a backup that cannot be.
            guard replacing || !place.isTaken else {
                throw FileError(.alreadyThere, path: path, "\(path) is there already")
            }
        }
        if let keyPath, FileDestination(path).isSame(as: FileDestination(keyPath)) {
            throw DeviceError(
                .keyInBackupFile, path: keyPath, "backup and key would be one file, \(keyPath)")
        }
    }

    /// Puts a backup's items in place of those that are here.
    ///
    /// All or nothing: refused or interrupted, this device is as it was. Where the backup is another device's,
    /// what is that one's alone stays behind; where that is all of it, nothing is exchanged.
    ///
    /// - Parameters:
    ///   - path: a file that `backUpKeychain` wrote.
    ///   - key: what that returned; nil for a backup of this device.
    ///   - groups: the access groups whose items are exchanged; nil for all.
    ///   - replacing: whether items that are there go.
    ///   - check: looks at each identity that comes, and throws where it must not.
    /// - Throws: `DeviceError`: `.locked` unless the device is unlocked; `.noBackup`; `.foreignBackup` where the
    ///   key is missing or wrong, or no item can come; `.alreadyThere`. `KeychainError` when an item was altered,
    ///   or the keychain fails; what `check` throws.
    package func restoreKeychain(
        fromBackup path: String, key: SecretBytes? = nil, groups: [String]? = nil, replacing: Bool = false,
        check: (OpenedIdentity) throws -> Void = { _ in }
    ) throws -> KeychainRestoration {
        try requireUnlocked()
        return try restore(
            to: try KeychainStore(device: self, newMasterKey: MasterKey.random), fromBackup: path, key: key,
            groups: groups, replacing: replacing, check: check)
    }

    func restore(
        to store: KeychainStore, fromBackup path: String, key: SecretBytes?, groups: [String]?,
        replacing: Bool,
        check: (OpenedIdentity) throws -> Void
    ) throws -> KeychainRestoration {
        let backup = try KeychainBackup(path, master: store.key, key: key)
        do {
            return try backup.queue.read { database in
                let rows = try KeychainRecord.fetchAll(database)
                var result = KeychainRestoration()
                try store.queue.inTransaction(.immediate) { target in
                    let removed = try KeychainRecord.deleteAll(in: target, groups: groups)
                    guard removed.isEmpty || replacing else {
                        throw DeviceError(
                            .keychainNotEmpty, path: folder, "the keychain is not empty")
                    }
                    result = try store.bring(rows, to: target) { row in
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
                    // Also where nothing came for a group that lost what it had.
                    try KeychainRecord.countChange(of: removed, in: target)
                    return .commit
                }
                return result
            }
        } catch let error as DatabaseError {
            throw KeychainError(error)
        }
    }

    /// The key in a file beside a backup.
    ///
    /// - Throws: `DeviceError` when there is none, or others may read it.
    package static func backupKey(_ path: String) throws(FileError) -> SecretBytes {
        guard let key = try MasterKey.read(path) else {
            throw .inputOutput("cannot open", path, errno: ENOENT)
        }
        return key
    }

    func requireUnlocked() throws {
        let state = try state()
        guard state.lock == .unlocked else {
            throw DeviceError(
                .locked, path: folder, "the device in \(folder) is \(state.words)")
        }
    }
}

extension KeychainStore {
    /// Adds the items of `rows` under ids of their own.
    ///
    /// - Parameter open: opens one; nil for one that stays behind.
    fileprivate func bring(
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
        try KeychainRecord.countChange(of: groups, in: database)
        return result
    }
}

extension KeychainRecord {
    /// Every item, those of other apps included, in the order they were added.
    fileprivate static func fetchAll(
        _ database: Database, groups: [String]? = nil, except accessibility: Accessibility? = nil
    ) throws -> RowCursor {
        let condition = groups.map { "AND accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try Row.fetchCursor(
            database,
            sql: "SELECT \(columns), sealed FROM item WHERE accessible IS NOT ? \(condition) ORDER BY id",
            arguments: StatementArguments([accessibility?.rawValue] + (groups ?? [])))
    }

    /// Deletes the items of the groups, nil for all; gives the groups that had any.
    fileprivate static func deleteAll(in database: Database, groups: [String]?) throws -> Set<String> {
        let condition =
            groups.map { "WHERE accessGroup IN (\(databaseQuestionMarks(count: $0.count)))" } ?? ""
        return try String.fetchSet(
            database, sql: "DELETE FROM item \(condition) RETURNING accessGroup",
            arguments: StatementArguments(groups ?? []))
    }
}
