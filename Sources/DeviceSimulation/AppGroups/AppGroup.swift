package import PrivateFiles
package import Foundation
private import Glibc

/// The files that the apps of an application group share: their container, as one app sees it.
///
/// Files are replaced whole, and changes that build on what is there are made by one process at a time. Not
/// sealed: what is secret goes into a `GroupStateFile`. A value that may be used from several threads and
/// processes at once; calls block until the disk has what was written.
package struct AppGroup: Sendable {
    /// The group's name.
    package let identifier: String
    /// The container's path.
    package let folder: String

    /// The container of the group `identifier`, made on first use.
    ///
    /// - Throws: `DeviceError`: `.missingEntitlement` when `app` is not of the group.
    package init(_ identifier: String, app: App, device: Device) throws {
        folder = try device.groupContainer(identifier, for: app)
        self.identifier = identifier
    }

    /// What the file `name` holds; nil when there is none.
    ///
    /// - Throws: `DeviceError` when it is a link, open to others, or cannot be read.
    package func read(_ name: String) throws(FileError) -> [UInt8]? {
        try PrivateFile.open(path(name))?.read(atMost: .max)
    }

    /// Replaces the file `name`, or makes it.
    ///
    /// - Throws: `DeviceError`; what was there stays then.
    package func write(_ bytes: [UInt8], to name: String) throws(FileError) {
        let path = try path(name)
        try FileLock.withLock(at: lockPath) { () throws(FileError) in try AtomicFile.write(bytes, to: path) }
    }

    /// Changes the file `name` while nobody else changes anything in the group: gives `body` what it holds,
    /// and keeps what `body` leaves, nil for no file.
    ///
    /// - Throws: what `body` throws, or a `DeviceError`; what was there stays then.
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

    /// Removes the file `name`; silent when there is none.
    ///
    /// - Throws: `DeviceError`.
    package func remove(_ name: String) throws(FileError) {
        let path = try path(name)
        try FileLock.withLock(at: lockPath) { () throws(FileError) in try AtomicFile.remove(path) }
    }

    /// The names of the files there are, in their order.
    ///
    /// - Throws: `DeviceError` when the container cannot be listed.
    package func names() throws(FileError) -> [String] {
        try PrivateFolder.names(folder).filter { !$0.hasPrefix(".") }
    }

    /// Removes what nobody changed since `date`, and what interrupted writers left behind. Settings are kept,
    /// whatever their age.
    ///
    /// - Throws: `DeviceError`; some files may be gone then.
    /// - Returns: the names of the files that were removed.
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
            // Whoever writes holds the lock, so that these are nobody's.
            if AtomicFile.isTemporary(name) {
                try AtomicFile.remove(path)
                continue
            }
            let isSettings = name == Self.takenSettingsName && kept.isEmpty
            guard isSettings || !name.hasPrefix("."), !kept.contains(name) else { continue }
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else {
                throw .inputOutput("cannot look at", path, errno: errno)
            }
            let changed =
                Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000
            guard changed < date.timeIntervalSince1970 else { continue }
            try AtomicFile.remove(path)
            removed.append(name)
        }
        return removed
    }

    /// Removes every file, as on log-out.
    ///
    /// - Throws: `DeviceError`; some files may be gone then.
    package func removeAll() throws(FileError) {
        _ = try removeFiles(unchangedSince: .distantFuture, keeping: [])
    }
}

extension AppGroup {
    /// Brings every file of `old` here, for apps that change the name of their group.
    ///
    /// A file goes from the old group when the new one has it on disk, so that an interrupted move is
    /// finished by the next, and nothing is lost. An app that does not know of the new name yet may write to
    /// the old group meanwhile: where both have a file, what was changed last stays. Settings are added key by
    /// key: what was set in the new group stays, and what came from the old one follows it.
    ///
    /// - Throws: `DeviceError`; what was not moved is where it was.
    /// - Returns: the names of the files that were moved by this call, or of which something was.
    @discardableResult
    package func takeOver(_ old: AppGroup) throws(FileError) -> [String] {
        guard old.folder != folder else { return [] }
        // Always in this order; nobody else holds both.
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
        // Dated like the old: if this is as far as it gets, whatever is written there next is newer.
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

    /// What the old group's settings were when they were taken, as long as the move is not over: by it the
    /// next tells what was changed there since from what was changed here.
    private var takenSettings: String { folder + "/" + Self.takenSettingsName }
    private static let takenSettingsName = ".taken.plist"

    /// The file whose lock every change of the group's files is made under.
    private var lockPath: String { folder + "/.lock" }

    private func path(_ name: String) throws(FileError) -> String {
        let path = folder + "/" + name
        guard PrivateFolder.isPlainName(name) else { throw .cannotCreate(path, errno: EINVAL) }
        return path
    }
}
