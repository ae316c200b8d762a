internal import PrivateFiles
package import SecretMemory
private import Foundation
internal import GRDB
private import Glibc
internal import OpenSSL

/// The result of replacing a damaged keychain with a new one.
package struct KeychainRecovery: Sendable {
    /// The items from the backup; empty if no backup was given.
    package let restoration: KeychainRestoration
    /// The number of readable items of other groups, which are in the new keychain.
    package let saved: Int
    /// The path of the folder with the damaged files.
    package let folder: String
}

extension KeychainHost {
    /// Replaces a damaged keychain with a new one that contains the items of a backup and the readable items of other
    /// groups. The caller holds ``lockExclusively()``.
    ///
    /// The damaged files are kept in a folder next to the new ones. If the master key can be read, it remains in use,
    /// because backups of this device require it. If this throws, the damaged keychain is unchanged. If it is
    /// interrupted, the keychain is still damaged, and no data is lost.
    ///
    /// - Parameters:
    ///   - path: A file that ``backUpKeychain(to:keyPath:groups:replacing:)`` wrote; nil to leave the groups
    ///     empty.
    ///   - key: The key that ``backUpKeychain(to:keyPath:groups:replacing:)`` returned; nil for a backup of this
    ///     device.
    ///   - groups: The access groups whose items are restored from the backup.
    ///   - check: Called with each identity of the backup; throws to reject the backup.
    /// - Throws: `DeviceError`: `.locked`, `.noBackup`, `.foreignBackup`, `.wrongBackupKey`,
    ///   `.nothingForThisDevice`. `KeychainError` if the new keychain fails; `FileError`; the error of `check`.
    package func recoverKeychain(
        fromBackup path: String?, key: SecretBytes? = nil, groups: [String],
        check: (OpenedIdentity) throws -> Void = { _ in }
    ) throws -> KeychainRecovery {
        try requireUnlocked()
        let files = KeychainFiles(folder: try keychainFolder())
        let opening = try files.opening()
        defer { opening?.release() }
        let kept = try? files.readMasterKey()
        let fresh = KeychainFiles(folder: files.folder + "/new")
        // An interrupted attempt may have left this folder. The lock excludes all other processes.
        try? FileManager.default.removeItem(atPath: fresh.folder)
        try PrivateFolder.make(fresh.folder)
        defer { try? FileManager.default.removeItem(atPath: fresh.folder) }
        let store = try KeychainStore.create(fresh, masterKey: kept ?? MasterKey.random())
        let others = try kept.map { files.readable(key: try SealingKey($0), except: groups) } ?? []
        let saved = try store.write { database in try store.insert(others, to: database) }
        var restoration = KeychainRestoration()
        if let path {
            restoration = try restore(
                to: store, fromBackup: path, key: key, groups: groups, replacing: true, check: check)
        }
        // Closing the last connection moves the log's contents into the database.
        try store.queue.close()
        let aside = try files.setAside(keepingKey: kept)
        try files.takeOver(fresh, withKey: kept == nil)
        return KeychainRecovery(restoration: restoration, saved: saved, folder: aside)
    }
}

extension KeychainFiles {
    /// Returns the readable items of a damaged database, except those of `groups`.
    fileprivate func readable(
        key: SealingKey, except groups: [String]
    ) -> [(record: KeychainRecord, secret: SecretBytes)] {
        guard let size = try? databaseSize(), size > 0 else { return [] }
        let configuration = Configuration.foreign(label: "damaged keychain", path: database)
        let items = try? DatabaseQueue(path: database, configuration: configuration).read { database in
            try KeychainSchema.requireTables(database, isWriting: false)
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(KeychainRecord.columns), sealed FROM item ORDER BY id")
            var items: [(record: KeychainRecord, secret: SecretBytes)] = []
            // Reading ends at the first page that cannot be read.
            while let row = try? rows.next() {
                guard let item = try? KeychainRecord.secret(row, key: key),
                    !groups.contains(item.record.accessGroup)
                else { continue }
                items.append(item)
            }
            return items
        }
        return items ?? []
    }

    /// Moves the database into a new folder, with the key, or with a copy of the key if it remains in use.
    ///
    /// - Returns: The path of the new folder.
    fileprivate func setAside(keepingKey kept: SecretBytes?) throws(FileError) -> String {
        var number = 1
        // Includes a symbolic link that leads nowhere.
        while FileIdentity(path: folder + "/damaged-\(number)") != nil { number += 1 }
        let aside = KeychainFiles(folder: folder + "/damaged-\(number)")
        try PrivateFolder.make(aside.folder)
        // The database is moved last, because SQLite finds its log by the database's name.
        for suffix in ["-shm", "-wal", ""] {
            try Self.move(database + suffix, to: aside.database + suffix)
        }
        if let kept {
            try AtomicFile.write(kept, to: aside.masterKey)
        } else {
            try Self.move(masterKey, to: aside.masterKey)
        }
        try Self.move(generation, to: aside.generation)
        try PrivateFolder.synchronize(aside.folder)
        try PrivateFolder.synchronize(folder)
        return aside.folder
    }

    /// Replaces these files with the database of `fresh`, and with its master key if `withKey` is true. The key is moved
    /// last.
    fileprivate func takeOver(_ fresh: KeychainFiles, withKey: Bool) throws(FileError) {
        try Self.move(fresh.generation, to: generation)
        try Self.move(fresh.database, to: database)
        try PrivateFolder.synchronize(folder)
        guard withKey else { return }
        try Self.move(fresh.masterKey, to: masterKey)
        try PrivateFolder.synchronize(folder)
    }

    /// Renames a file; does nothing if it does not exist.
    private static func move(_ path: String, to other: String) throws(FileError) {
        guard unsafe rename(path, other) == 0 || errno == ENOENT else {
            throw .inputOutput("cannot move", path, errno: errno)
        }
    }
}

extension KeychainStore {
    /// Adds items, each with a new id.
    ///
    /// - Returns: The number of items that were not already present.
    fileprivate func insert(
        _ items: [(record: KeychainRecord, secret: SecretBytes)], to database: Database
    ) throws -> Int {
        var groups: Set<String> = []
        var count = 0
        for (var record, secret) in items {
            record.id = try KeychainRecord.reserveIDs(1, in: database)
            guard try record.insert(secret, into: database, key: key) else { continue }
            groups.insert(record.accessGroup)
            count += 1
        }
        try KeychainRecord.countChange(of: groups, onlyAdding: true, in: database)
        return count
    }
}
