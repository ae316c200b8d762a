private import Glibc

/// Removal by open folders and names in them. A path could lead to another folder by the time it is used: another user
/// who can write to one of its folders can replace a subfolder with a symbolic link.
extension PrivateFolder {
    /// The maximum number of nested folders with contents that are removed. Each needs an open descriptor during the
    /// removal.
    static let mostLevels = 128

    /// Removes the file or folder at `path` with all its contents, without following symbolic links; the removal is not
    /// synchronized to disk.
    ///
    /// - Throws: `FileError.Code.inputOutput`, also for more than 128 nested folders with contents; some of the contents
    ///   may be removed in this case.
    package static func removeAll(_ path: String) throws(FileError) {
        guard unsafe remove(withoutSlash(path), in: AT_FDCWD, levels: mostLevels) else {
            throw unremovable(path)
        }
    }

    /// Removes a known folder of this user with all its contents, if it is still at `path`.
    ///
    /// - Throws: `FileError`: `.foreignEntry` if another folder is at `path`; `.symbolicLink`, `.notAFolder`,
    ///   `.foreignOwner` or `.inputOutput`.
    static func removeAll(_ known: FileIdentity, at path: String) throws(FileError) {
        let (descriptor, identity) = try openOwn(path)
        defer { close(descriptor) }
        guard identity.isSameFile(as: known) else {
            throw FileError(.foreignEntry, path: path, "another user replaced \(path)")
        }
        try removeContents(of: descriptor, at: path)
    }

    /// Removes the contents of an open folder, and then the folder at `path` if it is empty.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    static func removeContents(of folder: CInt, at path: String) throws(FileError) {
        // rmdir(2) neither removes a folder with contents nor follows a link.
        guard removeContents(of: folder, levels: mostLevels - 1), unsafe rmdir(path) == 0 else {
            throw unremovable(path)
        }
    }

    private static func unremovable(_ path: String) -> FileError {
        .inputOutput("cannot remove", path, errno: EIO)
    }

    private static func remove(_ name: UnsafePointer<CChar>, in folder: CInt, levels: Int) -> Bool {
        if unsafe unlinkat(folder, name, 0) == 0 { return true }
        guard errno == EISDIR else { return false }
        if unsafe unlinkat(folder, name, AT_REMOVEDIR) == 0 { return true }
        guard levels > 0 else { return false }
        let inner = unsafe openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard inner >= 0 else { return false }
        defer { close(inner) }
        guard removeContents(of: inner, levels: levels - 1) else { return false }
        return unsafe unlinkat(folder, name, AT_REMOVEDIR) == 0
    }

    private static func removeContents(of folder: CInt, levels: Int) -> Bool {
        guard let names = names(in: folder) else { return false }
        return names.allSatisfy { unsafe remove($0, in: folder, levels: levels) }
    }

    /// Returns the names in an open folder, each with a NUL at its end; nil if they cannot be read. A name can be invalid
    /// UTF-8.
    private static func names(in folder: CInt) -> [[CChar]]? {
        // closedir(3) closes the descriptor of the stream, so the stream gets its own.
        let own = unsafe openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { return nil }
        guard let stream = unsafe fdopendir(own) else {
            close(own)
            return nil
        }
        defer { unsafe closedir(stream) }
        var names: [[CChar]] = []
        while true {
            // readdir(3) also returns NULL at the end.
            errno = 0
            guard let entry = unsafe readdir(stream) else { return errno == 0 ? names : nil }
            guard let field = unsafe entry.pointer(to: \.d_name) else { return nil }
            let text = unsafe UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self)
            let name = unsafe Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
            let dot = CChar(UInt8(ascii: "."))
            if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
        }
    }
}
