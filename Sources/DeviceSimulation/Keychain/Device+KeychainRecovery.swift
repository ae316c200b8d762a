internal import PrivateFiles
package import SecretMemory
private import Foundation
internal import GRDB
private import Glibc
internal import OpenSSL

/// What came of putting a new keychain in place of a damaged one.
package struct KeychainRecovery: Sendable {
    /// What came from the backup; nothing where there was none.
    package let restoration: KeychainRestoration
    /// How many items of other apps still opened, and are in the new keychain.
    package let saved: Int
    /// The folder that the damaged files are in now.
    package let folder: String
}

extension Device {
    /// Puts a new keychain in place of one that is damaged: with a backup's items, and those of other groups that
    /// still open. Nobody else may be using the keychain.
    ///
    /// The damaged files are kept, in a folder beside the new ones. The master key stays where it can be read: a
    /// backup of this device opens with no other. Where this fails, the damaged keychain is as it was; where it
    /// is interrupted, the keychain is damaged still, and nothing is lost.
    ///
    /// - Parameters:
    ///   - path: a file that `backUpKeychain` wrote; nil where the groups are to be empty.
    ///   - key: what that returned; nil for a backup of this device.
    ///   - groups: the access groups whose items are exchanged.
    ///   - check: looks at each identity that comes, and throws where it must not.
    /// - Throws: as `restoreKeychain(fromBackup:)`.
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
        // Of an attempt that was interrupted; whoever has the lock is the only one.
        try? FileManager.default.removeItem(atPath: fresh.folder)
        try PrivateFolder.make(fresh.folder)
        defer { try? FileManager.default.removeItem(atPath: fresh.folder) }
        let store = try KeychainStore(fresh, newMasterKey: { kept ?? MasterKey.random() })
        let others = try kept.map { files.readable(key: try SealingKey($0), except: groups) } ?? []
        let saved = try store.write { database in try store.bring(others, to: database) }
        var restoration = KeychainRestoration()
        if let path {
            restoration = try restore(
                to: store, fromBackup: path, key: key, groups: groups, replacing: true, check: check)
        }
        // Brings everything from the log into the database.
        try store.queue.close()
        let aside = try files.setAside(keepingKey: kept)
        try files.takeOver(fresh, withKey: kept == nil)
        return KeychainRecovery(restoration: restoration, saved: saved, folder: aside)
    }
}

extension KeychainFiles {
    /// What still opens of a damaged database, but for the items of `groups`.
    fileprivate func readable(
        key: SealingKey, except groups: [String]
    ) -> [(record: KeychainRecord, secret: SecretBytes)] {
        guard let size = try? databaseSize(), size > 0 else { return [] }
        let configuration = Configuration.hardened(label: "damaged keychain", readonly: true)
        let items = try? DatabaseQueue(path: database, configuration: configuration).read { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(KeychainRecord.columns), sealed FROM item ORDER BY id")
            var items: [(record: KeychainRecord, secret: SecretBytes)] = []
            // Up to the first page that cannot be read.
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

    /// Moves the database to a folder of its own, and the key too unless that stays, of which a copy goes there.
    ///
    /// - Returns: the folder.
    fileprivate func setAside(keepingKey kept: SecretBytes?) throws(FileError) -> String {
        var number = 1
        while unsafe access(folder + "/damaged-\(number)", F_OK) == 0 { number += 1 }
        let aside = KeychainFiles(folder: folder + "/damaged-\(number)")
        try PrivateFolder.make(aside.folder)
        // The database last: as long as it is here, its log is what belongs to it.
        for suffix in ["-shm", "-wal", ""] {
            try Self.move(database + suffix, to: aside.database + suffix)
        }
        if let kept {
            try AtomicFile.write(kept, to: aside.masterKey)
        } else {
            try Self.move(masterKey, to: aside.masterKey)
        }
        try PrivateFolder.synchronize(aside.folder)
        try PrivateFolder.synchronize(folder)
        return aside.folder
    }

    /// Takes the database of `fresh`, and its key last.
    fileprivate func takeOver(_ fresh: KeychainFiles, withKey: Bool) throws(FileError) {
        try Self.move(fresh.database, to: database)
        try PrivateFolder.synchronize(folder)
        guard withKey else { return }
        try Self.move(fresh.masterKey, to: masterKey)
        try PrivateFolder.synchronize(folder)
    }

    /// Gives a file another name; silent where there is none.
    private static func move(_ path: String, to other: String) throws(FileError) {
        guard unsafe rename(path, other) == 0 || errno == ENOENT else {
            throw .inputOutput("cannot move", path, errno: errno)
        }
    }
}

extension KeychainStore {
    /// Adds items under ids of their own.
    ///
    /// - Returns: how many were not there already.
    fileprivate func bring(
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
        try KeychainRecord.countChange(of: groups, in: database)
        return count
    }
}
