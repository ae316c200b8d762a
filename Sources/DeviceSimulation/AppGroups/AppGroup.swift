package import Foundation
private import Glibc
package import PrivateFiles
package import SimulatedKeychain

/// The container of an app group: the files that the apps of the group share, as one app sees them.
///
/// Files are replaced atomically, and only one process at a time makes a change that depends on the earlier contents.
/// The files are not encrypted: secrets belong in a ``GroupStateFile``. Several threads and processes may use a
/// container concurrently. Calls return after the data is on disk.
package struct AppGroup: Sendable {
    /// The group's name, such as `group.red.hound.keyshare.provider`.
    package let identifier: String
    /// The absolute path of the container's folder.
    package let folder: String

    /// Opens the container of the group `identifier` for `app`, and creates it on first use.
    ///
    /// - Throws: `DeviceError.Code.missingEntitlement` if `app` is not in the group; `FileError` if the
    ///   folder cannot be created.
    package init(_ identifier: String, app: App, device: Device) throws {
        folder = try device.groupContainer(identifier, for: app)
        self.identifier = identifier
    }

    /// Reads the file `name`; nil if it does not exist.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.foreignOwner`, `.exposedFile`, `.damagedFile` or
    ///   `.inputOutput`; `.cannotCreate` for an invalid name.
    package func read(_ name: String) throws(FileError) -> [UInt8]? {
        try PrivateFile.open(path(name))?.read(atMost: .max)
    }

    /// Writes the file `name`, or replaces it.
    ///
    /// - Throws: `FileError`: `.cannotCreate` or `.inputOutput`; the earlier file is unchanged.
    package func write(_ bytes: [UInt8], to name: String) throws(FileError) {
        let path = try path(name)
        try FileLock.withLock(at: lockPath) { () throws(FileError) in try AtomicFile.write(bytes, to: path) }
    }

    /// Changes the file `name` while no other process or thread changes any file of the group.
    ///
    /// - Parameters:
    ///   - name: The name of the file in the group.
    ///   - body: Receives the file's bytes, or nil if the file does not exist, and replaces them with the new bytes.
    /// - Throws: The error of `body`, or a `FileError`; the earlier file is unchanged.
    package func update(_ name: String, _ body: (inout [UInt8]?) throws -> Void) throws {
        let path = try path(name)
        try FileLock.withLock(at: lockPath) {
            let old = try read(name)
            var bytes = old
            try body(&bytes)
            guard bytes != old else { return }
            if let bytes {
                try AtomicFile.write(bytes, to: path)
            } else {
                try AtomicFile.remove(path)
            }
        }
    }

    /// Removes the file `name`; does nothing if it does not exist.
    ///
    /// - Throws: `FileError`: `.cannotCreate` for an invalid name, or `.inputOutput`.
    package func remove(_ name: String) throws(FileError) {
        let path = try path(name)
        try FileLock.withLock(at: lockPath) { () throws(FileError) in try AtomicFile.remove(path) }
    }

    /// Returns the names of the group's files in ascending order, without hidden files.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package func names() throws(FileError) -> [String] {
        try PrivateFolder.names(folder).filter { !$0.hasPrefix(".") }
    }

    /// Removes every file that was last changed before `date`, and the temporary files of interrupted
    /// writers. The group's settings remain, regardless of their age.
    ///
    /// - Throws: `FileError.Code.inputOutput`; some files may be removed in this case.
    /// - Returns: The names of the removed files, except temporary files.
    @discardableResult
    package func removeFiles(unchangedSince date: Date) throws(FileError) -> [String] {
        try removeFiles(unchangedSince: date, keeping: [GroupDefaults.fileName])
    }

    private func removeFiles(
        unchangedSince date: Date, keeping kept: Set<String>
    ) throws(FileError) -> [String] {
        let lock = try FileLock.acquire(lockPath)
        defer { lock.release() }
        var removed: [String] = []
        for name in try PrivateFolder.names(folder) {
            let path = folder + "/" + name
            // Every writer holds the lock, so the writer of a temporary file that is found under the lock has
            // ended.
            if AtomicFile.isTemporary(name) {
                try AtomicFile.remove(path)
                continue
            }
            let isSettings = name == Self.takenSettingsName && kept.isEmpty
            guard isSettings || !name.hasPrefix("."), !kept.contains(name) else { continue }
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else {
                throw .inputOutput("cannot examine", path, errno: errno)
            }
            let changed =
                Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000
            guard changed < date.timeIntervalSince1970 else { continue }
            try AtomicFile.remove(path)
            removed.append(name)
        }
        return removed
    }

    /// Removes every file of the group, including settings, as an app does when its user logs out.
    ///
    /// - Throws: `FileError.Code.inputOutput`; some files may be removed in this case.
    package func removeAll() throws(FileError) {
        _ = try removeFiles(unchangedSince: .distantFuture, keeping: [])
    }
}

extension AppGroup {
    /// Moves every file of the group `old` into this one, for apps that change the name of their group.
    ///
    /// A file is removed from the old group only after it is on disk in the new one. If a move is interrupted, the next
    /// call completes it, and no file is lost. In the meantime, an app that does not use the new name yet may write to
    /// the old group: if both groups have a file, the one that changed last is kept. Settings are merged key by key: a
    /// value that was set in the new group is kept, and a value that came from the old group is updated if it changes
    /// there later.
    ///
    /// - Throws: `FileError`; files that were not moved are still in the old group.
    /// - Returns: The names of the files that this call moved. A settings file may have been moved only in part.
    @discardableResult
    package func takeOver(_ old: AppGroup) throws(FileError) -> [String] {
        guard old.folder != folder else { return [] }
        // Every process locks the old group first, so that no two processes can wait for each other.
        let oldLock = try FileLock.acquire(old.lockPath)
        defer { oldLock.release() }
        let newLock = try FileLock.acquire(lockPath)
        defer { newLock.release() }
        var moved: [String] = []
        for name in try old.names() {
            let isTaken = try name == GroupDefaults.fileName ? takeSettings(of: old) : take(name, of: old)
            if isTaken { moved.append(name) }
            try AtomicFile.remove(try old.path(name))
        }
        try AtomicFile.remove(takenSettings)
        return moved
    }

    private func take(_ name: String, of old: AppGroup) throws(FileError) -> Bool {
        guard let theirs = try PrivateFile.open(old.path(name)) else { return false }
        let (bytes, changed) = (try theirs.read(atMost: .max), try theirs.changed())
        if let ours = try PrivateFile.open(path(name)) {
            guard try ours.changed() < changed, try ours.read(atMost: .max) != bytes else { return false }
        }
        // The copy keeps the file's modification time, so that after an interruption every later write to either
        // group is newer.
        try AtomicFile.write(bytes, to: try path(name), changed: changed)
        return true
    }

    private func takeSettings(of old: AppGroup) throws(FileError) -> Bool {
        let name = GroupDefaults.fileName
        guard let theirs = try old.read(name) else { return false }
        let ours = try read(name)
        let taken = try PrivateFile.open(takenSettings)?.read(atMost: .max)
        let merged = try GroupDefaults.adding(theirs, to: ours, takenBefore: taken)
        guard merged != ours else { return false }
        try AtomicFile.write(theirs, to: takenSettings)
        try AtomicFile.write(merged, to: try path(name))
        return true
    }

    /// The file with the old group's settings at the time of the merge, kept until the move is complete. The
    /// next call uses it to distinguish later changes in the old group from changes in the new one.
    private var takenSettings: String { folder + "/" + Self.takenSettingsName }
    private static let takenSettingsName = ".taken.plist"

    /// The file whose lock protects every change of the group's files.
    private var lockPath: String { folder + "/.lock" }

    private func path(_ name: String) throws(FileError) -> String {
        let path = folder + "/" + name
        guard PrivateFolder.isPlainName(name) else { throw .cannotCreate(path, errno: EINVAL) }
        return path
    }
}
