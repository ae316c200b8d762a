private import Foundation
private import Glibc

/// Folders that belong to this process's effective user and are closed to all others.
package enum PrivateFolder {
    /// Makes the folder at `path` with mode 0700, or closes to others a folder of ours that is there. What the owner
    /// may do in an existing folder stays as it is.
    ///
    /// The last component may not be a symbolic link: whoever could place one could lead secrets elsewhere.
    ///
    /// - Parameters:
    ///   - path: the path of the folder.
    ///   - withParents: whether missing folders above it are made too.
    ///   - marker: the name of a folder inside by which a folder is known to be ours to close. An open
    ///     folder that is not empty and has no such folder inside is refused and left as it is. Nil where any
    ///     folder of this user's may be closed.
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`, `.exposedFolder` (see `marker`),
    ///   `.cannotCreate` or `.inputOutput`.
    package static func make(
        _ path: String, withParents: Bool = false, marker: String? = nil
    ) throws(FileError) {
        let folder = withoutSlash(path)
        if withParents { try makeParents(of: folder) }
        let isNew = try makeOne(folder)
        let (descriptor, identity) = try openOwn(folder)
        defer { close(descriptor) }
        // The umask may have taken permissions from a new folder; a read-only folder of ours is meant to be so.
        let mode = isNew ? 0o700 : identity.mode & 0o700
        guard identity.mode & 0o777 != mode else { return }
        if let marker, !isNew {
            guard try names(folder).isEmpty || isOwnFolder(folder + "/" + marker) else {
                throw FileError(
                    .exposedFolder, path: folder,
                    "\(folder) is open to other users, and what is in it is no device")
            }
        }
        guard fchmod(descriptor, mode) == 0 else {
            throw .inputOutput("cannot close to others", folder, errno: errno)
        }
    }

    /// Makes the folder at `path` with mode 0700 where it is missing, and refuses an existing folder that is open to
    /// others rather than to close it.
    ///
    /// For a folder that the user named, which may serve other purposes too.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`, `.exposedFolder`, `.cannotCreate` or
    ///   `.inputOutput`.
    package static func makeOrRequireClosed(_ path: String) throws(FileError) {
        let folder = withoutSlash(path)
        try makeOne(folder)
        guard let identity = FileIdentity(path: folder) else {
            throw .inputOutput("cannot look at", folder, errno: errno)
        }
        switch identity.type {
        case S_IFDIR: break
        case S_IFLNK: throw .symbolicLink(folder)
        default: throw FileError(.notAFolder, path: folder, "\(folder) is not a folder")
        }
        guard identity.isOwn else { throw .foreignOwner(folder) }
        guard !identity.isExposed else {
            throw FileError(.exposedFolder, path: folder, "\(folder) is open to other users")
        }
    }

    /// Tells whether there is a folder of this user's at `path`. Nothing is made or changed.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner` or `.inputOutput`.
    package static func isThere(_ path: String) throws(FileError) -> Bool {
        let folder = withoutSlash(path)
        if FileIdentity(path: folder) == nil, errno == ENOENT { return false }
        close(try openOwn(folder).descriptor)
        return true
    }

    /// Brings the entries of the folder at `path` to disk: files that were made, renamed or removed in it (fsync(2)).
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package static func synchronize(_ path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot open", path, errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot bring to disk", path, errno: errno) }
    }

    /// Gives the names of all entries of the folder at `path`, hidden ones too, in ascending order.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package static func names(_ path: String) throws(FileError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw .inputOutput("cannot list", path, errno: EIO)
        }
    }

    /// Removes the file or folder at `path` with everything in it; the removal is not brought to disk.
    ///
    /// - Throws: `FileError.Code.inputOutput`; part of it may be gone then.
    package static func removeAll(_ path: String) throws(FileError) {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw .inputOutput("cannot remove", path, errno: EIO)
        }
    }

    /// Tells whether a file or folder of ours may be called `name`: at most 255 bytes (`NAME_MAX`, limits.h(0p)), no
    /// slash, no NUL, and no dot in front, so that the name leads nowhere else and hides nothing.
    package static func isPlainName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !name.hasPrefix(".")
            && !name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0)
    }

    /// Gives the path of the folder that holds `path`; a dot for a path without a slash.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Removes slashes from the end of `path`: with one, the system follows a symbolic link (path_resolution(7)).
    static func withoutSlash(_ path: String) -> String {
        var path = Substring(path)
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    private static func openOwn(
        _ folder: String
    ) throws(FileError) -> (descriptor: CInt, identity: FileIdentity) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(folder, errno: errno) }
        guard let identity = FileIdentity(descriptor: descriptor) else {
            let code = errno
            close(descriptor)
            throw .inputOutput("cannot look at", folder, errno: code)
        }
        guard identity.isOwn else {
            close(descriptor)
            throw .foreignOwner(folder)
        }
        return (descriptor, identity)
    }

    private static func isOwnFolder(_ path: String) -> Bool {
        guard let identity = FileIdentity(path: path) else { return false }
        return identity.type == S_IFDIR && identity.isOwn
    }

    private static func makeParents(of path: String) throws(FileError) {
        for index in path.indices.dropFirst() where path[index] == "/" {
            let parent = String(path[..<index])
            // An existing parent may belong to anybody, be read-only or a link, and is left alone.
            guard unsafe access(parent, F_OK) != 0 else { continue }
            try makeOne(parent)
        }
    }

    /// Makes the folder at `path` where it is missing, and brings its name to disk: what is acknowledged inside it
    /// later must not go with the folder in a power cut.
    ///
    /// - Returns: whether it was missing.
    @discardableResult
    private static func makeOne(_ path: String) throws(FileError) -> Bool {
        guard unsafe mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw .cannotCreate(path, errno: errno) }
            return false
        }
        let parent = parent(of: path)
        // A folder may take new entries and yet refuse to be opened by us.
        if unsafe access(parent, R_OK) == 0 { try synchronize(parent) }
        return true
    }

    /// Says why the folder at `path` could not be opened.
    private static func refusal(_ path: String, errno code: Int32) -> FileError {
        guard let identity = FileIdentity(path: path) else {
            return .inputOutput("cannot open", path, errno: code)
        }
        return switch identity.type {
        case S_IFLNK: .symbolicLink(path)
        case S_IFDIR where !identity.isOwn: .foreignOwner(path)
        case S_IFDIR: .inputOutput("cannot open", path, errno: code)
        default: FileError(.notAFolder, path: path, "\(path) is not a folder")
        }
    }
}
