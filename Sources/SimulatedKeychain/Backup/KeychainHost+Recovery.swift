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
    /// groups. The caller holds ``lockExclusively()``, and no connection of this process is open.
    ///
    /// The damaged files are kept in a folder next to the new ones. If the master key can be read, it remains in use,
    /// because backups of this device require it. If this throws, the damaged keychain is unchanged. If it is
    /// interrupted, no data is lost: the keychain is still damaged, and the next recovery moves its files back first.
    ///
    /// - Parameters:
    ///   - path: A file that ``backUpKeychain(to:keyPath:groups:replacing:)`` wrote; nil to leave the groups
    ///     empty.
    ///   - key: The key that ``backUpKeychain(to:keyPath:groups:replacing:)`` returned; nil for a backup of this
    ///     device.
    ///   - groups: The access groups whose items are restored from the backup.
    ///   - check: Called with each identity of the backup; throws to reject the backup.
    /// - Throws: `DeviceError`: `.locked`, `.inUse` if another process has the keychain open, `.noBackup`,
    ///   `.foreignBackup`, `.wrongBackupKey`, `.nothingForThisDevice`. `KeychainError` if the new keychain fails;
    ///   `FileError`; the error of `check`.
    package func recoverKeychain(
        fromBackup path: String?, key: SecretBytes? = nil, groups: [String],
        check: (OpenedIdentity) throws -> Void = { _ in }
    ) throws -> KeychainRecovery {
        try requireUnlocked()
        let files = KeychainFiles(folder: try keychainFolder())
        // A process that opens the keychain waits for this lock. A process that opened it earlier does not.
        let opening = try files.opening()
        defer { opening?.release() }
        let fresh = KeychainFiles(folder: files.folder + "/new")
        try files.resolveInterruptedReplacement(by: fresh)
        try files.requireUnopened()
        let kept = try files.usableMasterKey()
        // An interrupted attempt may have left this folder.
        try? FileManager.default.removeItem(atPath: fresh.folder)
        try PrivateFolder.make(fresh.folder)
        var saved = 0
        var restoration = KeychainRestoration()
        do {
            let store = try KeychainStore.create(fresh, masterKey: kept ?? MasterKey.random())
            let others = try kept.map { try files.readable(key: try SealingKey($0), except: groups) } ?? []
            saved = try store.write { database in try store.insert(others, to: database) }
            if let path {
                restoration = try restore(
                    to: store, fromBackup: path, key: key, groups: groups, replacing: true, check: check)
            }
            try store.closeWithoutLog(fresh)
        } catch {
            try? FileManager.default.removeItem(atPath: fresh.folder)
            throw error is DatabaseError ? KeychainError(error) : error
        }
        let aside = try files.replace(with: fresh, keepingKey: kept)
        return KeychainRecovery(restoration: restoration, saved: saved, folder: aside)
    }
}

extension KeychainFiles {
    /// Returns the master key; nil if it is lost: missing, of the wrong length, or not a private file.
    ///
    /// - Throws: `FileError.Code.inputOutput` if the file cannot be read now.
    fileprivate func usableMasterKey() throws -> SecretBytes? {
        do {
            return try readMasterKey()
        } catch let error as FileError {
            if case .inputOutput = error.code { throw error }
            return nil
        } catch is KeychainError {
            return nil
        }
    }

    /// Returns the readable items of a damaged database, except those of `groups`.
    ///
    /// - Throws: An error that does not result from damage, so that a later attempt can read more: `DatabaseError`, for
    ///   example because there is no disk space for SQLite's shared memory; `FileError.Code.inputOutput`.
    fileprivate func readable(
        key: SealingKey, except groups: [String]
    ) throws -> [(record: KeychainRecord, secret: SecretBytes)] {
        var items: [(record: KeychainRecord, secret: SecretBytes)] = []
        do {
            guard let size = try databaseSize(), size > 0, isReadable else { return [] }
            let configuration = Configuration.foreign(label: "damaged keychain", path: database)
            try DatabaseQueue(path: database, configuration: configuration).read { database in
                try KeychainSchema.requireTables(database, isWriting: false)
                let rows = try Row.fetchCursor(
                    database, sql: "SELECT \(KeychainRecord.columns), sealed FROM item ORDER BY id")
                // Reading ends at the first page that cannot be read.
                while let row = try rows.next() {
                    guard let item = try? KeychainRecord.secret(row, key: key),
                        !groups.contains(item.record.accessGroup)
                    else { continue }
                    items.append(item)
                }
            }
        } catch let error as DatabaseError where error.isDamage {
        } catch is KeychainError {
        } catch let error as FileError {
            if case .inputOutput = error.code { throw error }
        }
        return items
    }

    /// Whether the permissions of the database allow this user to read it.
    private var isReadable: Bool {
        unsafe faccessat(AT_FDCWD, database, R_OK, AT_EACCESS) == 0 || errno != EACCES
    }

    /// Throws if another process has the database open: it would continue to write to the moved file, and lose those
    /// changes. This process must have no connection to the database, because closing a descriptor of a file drops all
    /// locks of the process on it (sqlite.org/howtocorrupt.html, section 2.2).
    ///
    /// - Throws: `DeviceError.Code.inUse`; `FileError` if the locks cannot be read.
    fileprivate func requireUnopened() throws {
        // No process opens a database that is not a regular file.
        guard let identity = FileIdentity(path: database), identity.mode & S_IFMT == S_IFREG else { return }
        let descriptor = unsafe Glibc.open(database, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            // A file that this user cannot read is damaged, too, and none of the user's processes has it open.
            if errno == EACCES { return }
            throw FileError.inputOutput("cannot open", database, errno: errno)
        }
        defer { close(descriptor) }
        // In WAL mode, each connection holds a shared lock on these 510 bytes until it is closed (SHARED_FIRST and
        // SHARED_SIZE in SQLite's os.h).
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0002
        lock.l_len = 510
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0 else {
            throw FileError.inputOutput("cannot read the locks of", database, errno: errno)
        }
        guard lock.l_type == Int16(F_UNLCK) else {
            throw DeviceError(
                .inUse, path: database, "another program has the keychain open; close it, and try again")
        }
    }

    /// The file in the folder of the new keychain with the number of the folder for the damaged files. It exists before
    /// the first file is moved.
    private var replacement: String { folder + "/replacement" }

    /// Moves these files into a new folder, and those of `fresh` to their place. If this throws, no file has moved.
    ///
    /// - Returns: The path of the folder with the old files.
    fileprivate func replace(
        with fresh: KeychainFiles, keepingKey kept: SecretBytes?
    ) throws(FileError) -> String {
        var number = 1
        // Includes a symbolic link that leads nowhere.
        while FileIdentity(path: folder + "/damaged-\(number)") != nil { number += 1 }
        let aside = KeychainFiles(folder: folder + "/damaged-\(number)")
        do throws(FileError) {
            try PrivateFolder.make(aside.folder)
            // Everything that needs disk space is written before the first file is moved.
            if let kept {
                try AtomicFile.write(kept, to: aside.masterKey)
            } else {
                // Another name of the lost key. If this fails, the key is moved later.
                unsafe link(masterKey, aside.masterKey)
            }
            try AtomicFile.write(Array("\(number)".utf8), to: fresh.replacement)
            try setAside(to: aside)
            try takeOver(fresh, keyTo: kept == nil ? aside : nil)
        } catch {
            // If a file cannot be moved back, the folder of `fresh` remains, so that the next recovery tries again.
            try putBack(from: aside, fresh)
            try? FileManager.default.removeItem(atPath: fresh.folder)
            throw error
        }
        try? FileManager.default.removeItem(atPath: fresh.folder)
        return aside.folder
    }

    /// Moves the database into another folder.
    private func setAside(to aside: KeychainFiles) throws(FileError) {
        // The database is moved first: after an interruption, no process opens it without its log.
        for suffix in ["", "-journal", "-wal", "-shm"] {
            try Self.move(database + suffix, to: aside.database + suffix)
        }
        try Self.move(generation, to: aside.generation)
        try PrivateFolder.synchronize(aside.folder)
        try PrivateFolder.synchronize(folder)
    }

    /// Moves the database of `fresh` to this place. With `aside`, also moves the master key into that folder, and replaces
    /// it. The key is replaced last: while the database is missing, the key keeps other processes from creating a new
    /// keychain.
    private func takeOver(_ fresh: KeychainFiles, keyTo aside: KeychainFiles?) throws(FileError) {
        try Self.move(fresh.generation, to: generation)
        try Self.move(fresh.database, to: database)
        try PrivateFolder.synchronize(folder)
        guard let aside else { return }
        if try !Self.exists(aside.masterKey) { try Self.move(masterKey, to: aside.masterKey) }
        try Self.move(fresh.masterKey, to: masterKey)
        try PrivateFolder.synchronize(aside.folder)
        try PrivateFolder.synchronize(folder)
    }

    /// Reverses ``setAside(to:)`` and ``takeOver(_:keyTo:)``, whichever step they reached, and removes the
    /// folder `aside` if nothing else is in it. It can be repeated after an interruption.
    private func putBack(from aside: KeychainFiles, _ fresh: KeychainFiles) throws(FileError) {
        let taken = [
            (fresh.database, database), (fresh.generation, generation), (fresh.masterKey, masterKey),
        ]
        for (original, path) in taken where try !Self.exists(original) {
            try Self.move(path, to: original)
        }
        if try !Self.exists(masterKey) { try Self.move(aside.masterKey, to: masterKey) }
        try Self.move(aside.generation, to: generation)
        // The database is moved last, so that no process opens it without its log.
        for suffix in ["-shm", "-wal", "-journal", ""] {
            try Self.move(aside.database + suffix, to: database + suffix)
        }
        try PrivateFolder.synchronize(folder)
        // If the key was not moved, `aside` contains a copy or another name of it.
        if let key = try? MasterKey.read(masterKey), (try? MasterKey.read(aside.masterKey)) == key {
            unsafe unlink(aside.masterKey)
        }
        unsafe rmdir(aside.folder)
    }

    /// Completes or reverses an earlier recovery that was interrupted after it began to move files. Otherwise, the items
    /// of other groups would be lost.
    fileprivate func resolveInterruptedReplacement(by fresh: KeychainFiles) throws(FileError) {
        guard let digits = try PrivateFile.open(fresh.replacement)?.read(atMost: 20),
            let number = Int(String(decoding: digits, as: UTF8.self))
        else { return }
        let aside = KeychainFiles(folder: folder + "/damaged-\(number)")
        if try !Self.exists(fresh.database) {
            // Only the lost key may still have to be replaced by the key of the new database.
            let lost = FileIdentity(path: aside.masterKey)
            if let own = FileIdentity(path: masterKey) {
                guard lost?.isSameFile(as: own) == true else { return }
            }
            try Self.move(fresh.masterKey, to: masterKey)
        } else if try !Self.exists(database) {
            try putBack(from: aside, fresh)
        }
        // Otherwise, nothing was moved, or a keychain was put in this place later. It must not be replaced.
    }

    private static func exists(_ path: String) throws(FileError) -> Bool {
        guard FileIdentity(path: path) == nil else { return true }
        guard errno == ENOENT else { throw .inputOutput("cannot examine", path, errno: errno) }
        return false
    }

    /// Renames a file; does nothing if it does not exist.
    private static func move(_ path: String, to other: String) throws(FileError) {
        guard unsafe rename(path, other) == 0 || errno == ENOENT else {
            throw .inputOutput("cannot move", path, errno: errno)
        }
    }
}

extension KeychainStore {
    /// Closes the only connection, after everything in the log was written to the database.
    ///
    /// - Throws: `DatabaseError`; `KeychainError.Code.io` if the log is not empty, because SQLite does not report an
    ///   error at the end.
    fileprivate func closeWithoutLog(_ files: KeychainFiles) throws {
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try queue.close()
        guard FileIdentity(path: files.database + "-wal")?.size ?? 0 == 0 else {
            throw KeychainError(.io, "the new keychain could not be written completely")
        }
    }

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

extension DatabaseError {
    /// Whether the error results from the contents of the database, or from a disk that cannot read them (EIO, which
    /// SQLite reports as SQLITE_IOERR_CORRUPTFS). Other errors may end: too little disk space, too many open files, a
    /// server that does not answer, or a busy database.
    fileprivate var isDamage: Bool {
        switch resultCode {
        case .SQLITE_IOERR:
            [.SQLITE_IOERR_SHORT_READ, .SQLITE_IOERR_DATA, .SQLITE_IOERR_CORRUPTFS]
                .contains(extendedResultCode)
        case .SQLITE_FULL, .SQLITE_CANTOPEN, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: false
        default: true
        }
    }
}
