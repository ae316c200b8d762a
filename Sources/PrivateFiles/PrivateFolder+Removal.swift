private import Glibc

/// Removal by open folders and names in them. A path could lead to another folder by the time it is used: another user
/// who can write to one of its folders can replace a subfolder with a symbolic link.
extension PrivateFolder {
    /// Removes the file or folder at `path` with all its contents, without following symbolic links; the removal is not
    /// synchronized to disk. Folders of this user that are not writable are also removed.
    ///
    /// - Throws: `FileError.Code.inputOutput`; some of the contents may be removed in this case.
    package static func removeAll(_ path: String) throws(FileError) {
        let name = withoutSlash(path)
        guard unsafe !unlink(name, in: AT_FDCWD) else { return }
        let folder = try unsafe openContents(name, in: AT_FDCWD, at: path)
        defer { close(folder) }
        try removeContents(of: folder, at: name)
    }

    /// Removes the contents of an open folder, and then the folder at `path` if it is empty.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    static func removeContents(of folder: CInt, at path: String) throws(FileError) {
        // Subfolders are moved into `folder` before they are entered. The number of nested folders is therefore limited
        // neither by the stack nor by the descriptors of this process.
        while true {
            let names = try encodedNames(in: folder, at: path)
            if names.isEmpty { break }
            for name in names { try remove(name, in: folder, at: path) }
        }
        // rmdir(2) neither removes a folder with contents nor follows a link.
        guard unsafe rmdir(path) == 0 else { throw unremovable(path) }
    }

    /// Removes an entry of an open folder. Moves the subfolders of this entry that are not empty to the open folder.
    private static func remove(_ name: [CChar], in folder: CInt, at path: String) throws(FileError) {
        guard unsafe !unlink(name, in: folder) else { return }
        let inner = try unsafe openContents(name, in: folder, at: path)
        defer { close(inner) }
        for child in try encodedNames(in: inner, at: path) where unsafe !unlink(child, in: inner) {
            // A folder that is not writable cannot be moved to another folder.
            close(try unsafe openContents(child, in: inner, at: path))
            let free = ".removed-\(UInt64.random(in: .min ... .max))"
            guard unsafe renameat(inner, child, folder, free) == 0 else { throw unremovable(path) }
        }
        guard unsafe unlinkat(folder, name, AT_REMOVEDIR) == 0 else { throw unremovable(path) }
    }

    /// Removes a file or an empty folder, and returns whether it is removed. Otherwise, `errno` is the reason.
    private static func unlink(_ name: UnsafePointer<CChar>, in folder: CInt) -> Bool {
        if unsafe unlinkat(folder, name, 0) == 0 { return true }
        return unsafe errno == EISDIR && unlinkat(folder, name, AT_REMOVEDIR) == 0
    }

    /// Opens a folder that is not empty, and makes it accessible to its owner. The caller closes the descriptor.
    ///
    /// - Throws: `FileError`. If the name is not that of a folder, the reason is `errno`, that of `unlink(_:in:)`.
    private static func openContents(
        _ name: UnsafePointer<CChar>, in folder: CInt, at path: String
    ) throws(FileError) -> CInt {
        guard errno == ENOTEMPTY || errno == EEXIST else { throw unremovable(path) }
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        var inner = unsafe openat(folder, name, flags)
        if inner < 0, errno == EACCES, unsafe fchmodat(folder, name, 0o700, AT_SYMLINK_NOFOLLOW) == 0 {
            inner = unsafe openat(folder, name, flags)
        }
        guard inner >= 0 else { throw unremovable(path) }
        // Fails for a folder of another user, whose permissions may suffice.
        fchmod(inner, 0o700)
        return inner
    }

    private static func unremovable(_ path: String) -> FileError {
        .inputOutput("cannot remove", path, errno: errno)
    }
}
