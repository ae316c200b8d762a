private import CLinux
private import Glibc

/// A folder that is filled under a hidden name and gets its own name when it is complete: nobody finds a part of it.
///
/// The unfinished folder stands beside the one that it becomes, and is locked as long as this object lives. What a
/// killed process left of it is removed by the next that makes a folder of that name. Several threads may add files.
package final class NewFolder: Sendable {
    /// The path that the folder gets.
    package let path: String
    private let unfinished: String
    private let replacesFormer: Bool
    private let lock: FileLock

    /// Makes the unfinished folder, mode 0700.
    ///
    /// - Parameters:
    ///   - path: the path that the folder gets. The folder above it must be there.
    ///   - replacing: whether a folder that has this path goes when the new one is complete.
    /// - Throws: `FileError`: `.alreadyThere` where something has the path and `replacing` is false;
    ///   `.symbolicLink` or `.notAFolder` where the path is no folder's; `.unsuitablePath` for a path without a name;
    ///   `.cannotCreate`; `.inputOutput`, also where another process is making the same folder.
    package init(_ path: String, replacing: Bool) throws(FileError) {
        let path = PrivateFolder.withoutSlash(path)
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw FileError(.unsuitablePath, path: path, "\(path) is no name for a new folder")
        }
        if let former = FileIdentity(path: path) {
            switch former.type {
            case S_IFDIR: break
            case S_IFLNK: throw .symbolicLink(path)
            default: throw FileError(.notAFolder, path: path, "\(path) is not a folder")
            }
            guard replacing else { throw Self.taken(path) }
            guard former.isOwn else { throw .foreignOwner(path) }
        }
        self.path = path
        replacesFormer = replacing
        unfinished = "\(PrivateFolder.parent(of: path))/.\(name).unfinished"
        try Self.makeEmpty(unfinished, for: path)
        guard let lock = try FileLock.acquireIfFree(folder: unfinished, isShared: false) else {
            throw Self.busy(path)
        }
        self.lock = lock
    }

    /// Writes a file into the unfinished folder, mode 0600, and brings it to disk.
    ///
    /// - Throws: `FileError`: `.unsuitablePath` for a name that leads elsewhere, `.cannotCreate` where the name is taken
    ///   or no file can be made, `.inputOutput`.
    package func add(_ bytes: [UInt8], as name: String) throws(FileError) {
        try add(as: name) { descriptor, path throws(FileError) in
            try OpenFile.write(bytes, to: descriptor, named: path)
        }
    }

    /// Writes what an open file holds, from its first byte on, as `add(_:as:)` does, without having all of it in memory.
    ///
    /// - Throws: `FileError`, as `add(_:as:)`.
    package func add(contentsOf source: CInt, as name: String) throws(FileError) {
        try add(as: name) { descriptor, path throws(FileError) in
            try OpenFile.copy(source, to: descriptor, named: path)
        }
    }

    private func add(
        as name: String, _ fill: (CInt, String) throws(FileError) -> Void
    ) throws(FileError) {
        guard PrivateFolder.isPlainName(name) else {
            throw FileError(.unsuitablePath, path: path, "\u{201C}\(name)\u{201D} is no name for a file")
        }
        let file = unfinished + "/" + name
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path + "/" + name, errno: errno) }
        defer { close(descriptor) }
        try fill(descriptor, path + "/" + name)
        guard fsync(descriptor) == 0 else {
            throw .inputOutput("cannot bring to disk", path + "/" + name, errno: errno)
        }
    }

    /// Gives the folder its name, and removes the folder that had the name before.
    ///
    /// - Throws: `FileError`: `.alreadyThere` where the name was taken meanwhile and nothing is to be replaced;
    ///   `.inputOutput`. The former folder is as it was then.
    package func publish() throws(FileError) {
        try PrivateFolder.synchronize(unfinished)
        if replacesFormer, FileIdentity(path: path) != nil {
            try exchange()
        } else {
            try rename(unfinished, to: path)
        }
        try PrivateFolder.synchronize(PrivateFolder.parent(of: path))
    }

    /// Removes the unfinished folder; does nothing once the folder is published.
    package func discard() {
        // What cannot be removed now is removed by the next who makes a folder of this name.
        if FileIdentity(path: unfinished) != nil { try? PrivateFolder.removeAll(unfinished) }
        lock.release()
    }

    private func exchange() throws(FileError) {
        // rename(2) does not replace a folder that holds files; swapping the two names leaves no moment without one.
        let code = unsafe clinux_swap_names(unfinished, path)
        if code == 0 { return try PrivateFolder.removeAll(unfinished) }
        guard code == EINVAL || code == ENOSYS else {
            throw .inputOutput("cannot replace", path, errno: code)
        }
        // A file system that cannot swap: the former folder steps aside, and comes back where this fails.
        let former = unfinished + ".former"
        try rename(path, to: former)
        do throws(FileError) {
            try rename(unfinished, to: path)
        } catch {
            try? rename(former, to: path)
            throw error
        }
        try PrivateFolder.removeAll(former)
    }

    private func rename(_ source: String, to target: String) throws(FileError) {
        let code = unsafe clinux_rename_to_free(source, target)
        if code == 0 { return }
        if code == EEXIST { throw Self.taken(target) }
        guard code == EINVAL || code == ENOSYS else { throw .cannotCreate(target, errno: code) }
        // A file system without RENAME_NOREPLACE: mkdir(2) refuses a name that is taken, and rename(2) replaces an
        // empty folder.
        guard unsafe mkdir(target, 0o700) == 0 else {
            throw errno == EEXIST ? Self.taken(target) : .cannotCreate(target, errno: errno)
        }
        guard unsafe Glibc.rename(source, target) == 0 else {
            let code = errno
            unsafe rmdir(target)
            throw .cannotCreate(target, errno: code)
        }
    }

    /// Makes the unfinished folder; what a killed process left of an earlier one is removed.
    private static func makeEmpty(_ unfinished: String, for path: String) throws(FileError) {
        if unsafe mkdir(unfinished, 0o700) == 0 { return }
        guard errno == EEXIST else { throw .cannotCreate(path, errno: errno) }
        guard let lock = try FileLock.acquireIfFree(folder: unfinished, isShared: false) else {
            throw busy(path)
        }
        defer { lock.release() }
        try PrivateFolder.removeAll(unfinished)
        guard unsafe mkdir(unfinished, 0o700) == 0 else { throw .cannotCreate(path, errno: errno) }
    }

    private static func taken(_ path: String) -> FileError {
        FileError(.alreadyThere, path: path, "\(path) is there already")
    }

    private static func busy(_ path: String) -> FileError {
        FileError(.inputOutput(EBUSY), path: path, "another command is writing \(path)")
    }
}
