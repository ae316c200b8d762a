private import CLinux
private import Glibc
private import Synchronization

/// A folder that is filled under a hidden name and renamed when it is complete, so that an incomplete folder is never
/// visible.
///
/// The unfinished folder has the same parent as the final one, and is locked while this object exists. If the process
/// is killed, the next process that creates a folder of that name removes the unfinished one. Several threads may add
/// files concurrently.
///
/// In a folder that other users can write to, another user can replace the unfinished folder. Files are therefore only
/// created in and removed from the open folder, and the final name of a replaced folder is an error.
package final class NewFolder: Sendable {
    /// The final path of the folder.
    package let path: String
    private let unfinished: String
    /// The folder to replace; nil if the path was free.
    private let former: FileIdentity?
    private let isReplaceable: @Sendable (String) -> Bool
    /// The lock of the unfinished folder, which also keeps it open.
    private let lock: FileLock
    private let progress = Mutex(Progress())

    private struct Progress {
        /// The names of the files that this object created.
        var names: [String] = []
        /// Whether the folder is published or discarded.
        var isOver = false
    }

    /// Creates the unfinished folder, mode 0700.
    ///
    /// - Parameters:
    ///   - path: The final path of the folder. Its parent folder must exist.
    ///   - isReplaceable: Returns whether a file with this name may be removed. A folder that exists at this path now is
    ///     replaced when the new one is complete, if it contains only such files. If nil, no folder is replaced.
    /// - Throws: `FileError`: `.alreadyThere` if the path is in use and `isReplaceable` is nil; `.otherFiles`;
    ///   `.symbolicLink` or `.notAFolder` if the path is in use by something other than a folder; `.unsuitablePath` for a
    ///   path without a name; `.foreignOwner`; `.cannotCreate`; `.inputOutput`, also if another process is creating the
    ///   same folder.
    package init(
        _ path: String, replacing isReplaceable: (@Sendable (String) -> Bool)?
    ) throws(FileError) {
        let path = PrivateFolder.withoutSlash(path)
        let name = PrivateFolder.components(of: path, omittingEmpty: false).last ?? ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw FileError(.unsuitablePath, path: path, "\(path) is not a valid name for a new folder")
        }
        former = FileIdentity(path: path)
        if let former {
            switch former.type {
            case S_IFDIR: break
            case S_IFLNK: throw .symbolicLink(path)
            default: throw FileError(.notAFolder, path: path, "\(path) is not a folder")
            }
            guard let isReplaceable else { throw Self.taken(path) }
            guard former.isOwn else { throw .foreignOwner(path) }
            try former.requireNoOthers(isReplaceable, at: path, named: path)
        }
        self.isReplaceable = isReplaceable ?? { _ in false }
        self.path = path
        unfinished = "\(PrivateFolder.parent(of: path))/.\(name).unfinished"
        try Self.makeEmpty(unfinished, for: path)
        lock = try Self.open(unfinished, for: path)
    }

    /// Writes a file into the unfinished folder, mode 0600, and synchronizes it to disk.
    ///
    /// - Throws: `FileError`: `.unsuitablePath` for a name that leads to another folder, `.cannotCreate` if
    ///   the name is in use or no file can be created, `.inputOutput`.
    package func add(_ bytes: [UInt8], as name: String) throws(FileError) {
        try add(as: name) { descriptor, path throws(FileError) in
            try OpenFile.write(bytes, to: descriptor, named: path)
        }
    }

    /// Copies the contents of an open file, from its first byte, into a file of the unfinished folder. Like
    /// `add(_:as:)`, but does not load all of the contents into memory.
    ///
    /// - Throws: `FileError`, like `add(_:as:)`.
    package func add(contentsOf source: CInt, as name: String) throws(FileError) {
        try add(as: name) { descriptor, path throws(FileError) in
            try OpenFile.copy(source, to: descriptor, named: path)
        }
    }

    private func add(
        as name: String, _ fill: (CInt, String) throws(FileError) -> Void
    ) throws(FileError) {
        guard PrivateFolder.isPlainName(name) else {
            throw FileError(.unsuitablePath, path: path, "\u{201C}\(name)\u{201D} is not a valid file name")
        }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe openat(lock.descriptor, name, flags, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path + "/" + name, errno: errno) }
        defer { close(descriptor) }
        progress.withLock { $0.names.append(name) }
        try fill(descriptor, path + "/" + name)
        guard fsync(descriptor) == 0 else {
            throw .inputOutput("cannot sync to disk", path + "/" + name, errno: errno)
        }
    }

    /// Gives the folder its final name, and removes the folder that had the name when this object was created.
    ///
    /// - Throws: `FileError`: `.alreadyThere` if something else has the name by now; `.otherFiles` if other files were
    ///   created in the previous folder; `.foreignEntry` if another user replaced the unfinished or the previous folder;
    ///   `.inputOutput`. The previous folder is unchanged in these cases, unless only its removal failed.
    package func publish() throws(FileError) {
        guard fsync(lock.descriptor) == 0 else {
            throw .inputOutput("cannot sync to disk", unfinished, errno: errno)
        }
        try requireThisFolder(at: unfinished)
        if let former, let named = FileIdentity(path: path) {
            guard named.isSameFile(as: former) else { throw Self.taken(path) }
            try exchange(former)
        } else {
            try rename(unfinished, to: path)
            try complete()
        }
        try PrivateFolder.synchronize(PrivateFolder.parent(of: path))
    }

    /// Moves the complete files into an existing folder instead, where they replace earlier files of the same names, and
    /// removes the unfinished folder.
    ///
    /// - Throws: `FileError`: `.unsuitablePath` if one of the names is in use by a folder, and no file is moved;
    ///   `.inputOutput`.
    package func moveFiles(into folder: String) throws(FileError) {
        defer { discard() }
        let names = progress.withLock(\.names)
        for path in names.map({ "\(folder)/\($0)" }) where FileIdentity(path: path)?.type == S_IFDIR {
            throw FileError(.unsuitablePath, path: path, "\(path) is a folder")
        }
        for name in names {
            guard unsafe renameat(lock.descriptor, name, AT_FDCWD, "\(folder)/\(name)") == 0 else {
                throw .inputOutput("cannot replace", "\(folder)/\(name)", errno: errno)
            }
        }
        try PrivateFolder.synchronize(folder)
    }

    /// Removes the unfinished folder with the files that this object created; does nothing once the folder is published.
    package func discard() {
        progress.withLock { progress in
            guard !progress.isOver else { return }
            progress.isOver = true
            for name in progress.names { unsafe unlinkat(lock.descriptor, name, 0) }
            // Another folder can have this name. rmdir(2) does not remove a folder with contents. The next process that
            // creates a folder of this name removes the remaining files.
            unsafe rmdir(unfinished)
        }
        lock.release()
    }

    /// Notes that the folder is published. Throws if another folder has its final name: the names could be used for
    /// another folder after the last check.
    private func complete() throws(FileError) {
        try requireThisFolder(at: path)
        progress.withLock { $0.isOver = true }
    }

    private func requireThisFolder(at name: String) throws(FileError) {
        guard let named = FileIdentity(path: name),
            FileIdentity(descriptor: lock.descriptor)?.isSameFile(as: named) == true
        else {
            throw FileError(
                .foreignEntry, path: path, "another user replaced the unfinished folder of \(path)")
        }
    }

    private func exchange(_ known: FileIdentity) throws(FileError) {
        // rename(2) cannot replace a folder that contains files. Swapping the names ensures that the name always
        // belongs to a folder.
        let code = unsafe clinux_swap_names(unfinished, path)
        if code == 0 {
            do throws(FileError) {
                // No program that uses the final name can create files in the previous folder any more.
                try known.requireNoOthers(isReplaceable, at: unfinished, named: path)
                try complete()
            } catch {
                _ = unsafe clinux_swap_names(unfinished, path)
                throw error
            }
            return try remove(known, at: unfinished)
        }
        guard code == EINVAL || code == ENOSYS else {
            throw .inputOutput("cannot replace", path, errno: code)
        }
        // For file systems without swap: renames the previous folder temporarily, and restores it on failure.
        let former = unfinished + ".former"
        try rename(path, to: former)
        do throws(FileError) {
            try known.requireNoOthers(isReplaceable, at: former, named: path)
            try rename(unfinished, to: path)
            try complete()
        } catch {
            // Fails unless another folder got the name.
            try? rename(path, to: unfinished)
            try? rename(former, to: path)
            throw error
        }
        try remove(known, at: former)
    }

    /// Removes the previous folder. If it cannot be removed, for example because a program has just created a file in it,
    /// it gets a visible name, because the next process removes everything under the hidden name.
    private func remove(_ former: FileIdentity, at name: String) throws(FileError) {
        do throws(FileError) {
            try former.removeFolder(at: name, isReplaceable)
        } catch {
            let visible = path + ".former"
            guard unsafe clinux_rename_to_free(name, visible) == 0 else { throw error }
            throw FileError(
                error.code, path: visible, "\(error.reason); the previous folder is now \(visible)")
        }
    }

    private func rename(_ source: String, to target: String) throws(FileError) {
        let code = unsafe clinux_rename_to_free(source, target)
        if code == 0 { return }
        if code == EEXIST { throw Self.taken(target) }
        guard code == EINVAL || code == ENOSYS else { throw .cannotCreate(target, errno: code) }
        // For file systems without RENAME_NOREPLACE: mkdir(2) fails if the name is in use, and rename(2)
        // replaces an empty folder.
        guard unsafe mkdir(target, 0o700) == 0 else {
            throw errno == EEXIST ? Self.taken(target) : .cannotCreate(target, errno: errno)
        }
        guard unsafe Glibc.rename(source, target) == 0 else {
            let code = errno
            unsafe rmdir(target)
            throw .cannotCreate(target, errno: code)
        }
    }

    /// Creates the unfinished folder. Removes the unfinished folder of a killed process first.
    private static func makeEmpty(_ unfinished: String, for path: String) throws(FileError) {
        if unsafe mkdir(unfinished, 0o700) == 0 { return }
        guard errno == EEXIST else { throw .cannotCreate(path, errno: errno) }
        let remains = try open(unfinished, for: path)
        defer { remains.release() }
        try PrivateFolder.removeContents(of: remains.descriptor, at: unfinished)
        guard unsafe mkdir(unfinished, 0o700) == 0 else { throw .cannotCreate(path, errno: errno) }
    }

    /// Opens and locks the unfinished folder, which must belong to this user.
    private static func open(_ unfinished: String, for path: String) throws(FileError) -> FileLock {
        guard FileIdentity(path: unfinished)?.isOwn != false else { throw .foreignOwner(unfinished) }
        guard let lock = try FileLock.acquireIfFree(folder: unfinished, isShared: false) else {
            throw busy(path)
        }
        // The name could belong to another folder by the time it was opened.
        guard FileIdentity(descriptor: lock.descriptor)?.isOwn == true else {
            throw .foreignOwner(unfinished)
        }
        return lock
    }

    private static func taken(_ path: String) -> FileError {
        FileError(.alreadyThere, path: path, "\(path) already exists")
    }

    private static func busy(_ path: String) -> FileError {
        FileError(.inputOutput(EBUSY), path: path, "another command is writing \(path)")
    }
}

// MARK: - The previous folder

extension FileIdentity {
    /// Checks that a folder contains only files that may be removed.
    ///
    /// - Parameters:
    ///   - isReplaceable: Returns whether a file with this name may be removed.
    ///   - path: The current path of the folder.
    ///   - name: The path for the error message.
    /// - Throws: `FileError`: `.otherFiles`, also for subfolders and links; `.foreignEntry` if another folder is at
    ///   `path`; `.symbolicLink`, `.notAFolder`, `.foreignOwner` or `.inputOutput`.
    fileprivate func requireNoOthers(
        _ isReplaceable: (String) -> Bool, at path: String, named name: String
    ) throws(FileError) {
        let folder = try openThisFolder(at: path)
        defer { close(folder) }
        let others = try PrivateFolder.entries(of: folder, at: path, followingLinks: false).filter {
            $0.obstacle != nil || !isReplaceable($0.name)
        }
        guard others.isEmpty else {
            throw FileError(
                .otherFiles, path: name,
                "\(name) also contains other files: \(others.prefix(3).map(\.name).joined(separator: ", "))")
        }
    }

    /// Removes this folder and the files that may be removed. A folder that also contains other files remains with them.
    fileprivate func removeFolder(
        at path: String, _ isReplaceable: (String) -> Bool
    ) throws(FileError) {
        let folder = try openThisFolder(at: path)
        defer { close(folder) }
        for entry in try PrivateFolder.entries(of: folder, at: path, followingLinks: false)
        where entry.obstacle == nil && isReplaceable(entry.name) {
            guard unsafe unlinkat(folder, entry.name, 0) == 0 else {
                throw .inputOutput("cannot remove", path, errno: errno)
            }
        }
        guard unsafe rmdir(path) == 0 else { throw .inputOutput("cannot remove", path, errno: errno) }
    }

    private func openThisFolder(at path: String) throws(FileError) -> CInt {
        let (descriptor, identity) = try PrivateFolder.openOwn(path)
        guard identity.isSameFile(as: self) else {
            close(descriptor)
            throw FileError(.foreignEntry, path: path, "another user replaced \(path)")
        }
        return descriptor
    }
}
