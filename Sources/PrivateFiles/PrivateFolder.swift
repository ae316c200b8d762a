private import Foundation
private import Glibc

/// Folders that belong to this process's effective user and are inaccessible to all others.
package enum PrivateFolder {
    /// Creates the folder at `path` with mode 0700, or makes an existing private folder inaccessible to others. The
    /// owner's permissions of an existing folder do not change.
    ///
    /// The last component must not be a symbolic link, which could redirect secrets.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - withParents: Whether missing parent folders are also created.
    ///   - marker: The name of a subfolder that identifies a private folder. A folder that others can access is
    ///     rejected and not changed if it is not empty and has no such subfolder. If nil, the permissions of any folder
    ///     of this user may be changed.
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`, `.exposedFolder` (see
    ///   `marker`), `.cannotCreate` or `.inputOutput`.
    package static func make(
        _ path: String, withParents: Bool = false, marker: String? = nil
    ) throws(FileError) {
        let folder = withoutSlash(path)
        if withParents { try makeParents(of: folder) }
        let isNew = try makeOne(folder)
        let (descriptor, identity) = try openOwn(folder)
        defer { close(descriptor) }
        // The umask may have removed permissions from a new folder. An existing read-only folder remains read-only.
        let mode = isNew ? 0o700 : identity.mode & 0o700
        guard identity.mode & 0o777 != mode else { return }
        if let marker, !isNew {
            guard try names(folder).isEmpty || isOwnFolder(folder + "/" + marker) else {
                throw FileError(
                    .exposedFolder, path: folder,
                    "other users have access to \(folder), and it does not contain a device")
            }
        }
        guard fchmod(descriptor, mode) == 0 else {
            throw .inputOutput("cannot restrict access to", folder, errno: errno)
        }
    }

    /// Creates the folder at `path` with mode 0700 if it does not exist, and rejects an existing folder that others can
    /// access, without changing its permissions.
    ///
    /// Use it for a folder that the user named, because such a folder may also serve other purposes.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`, `.exposedFolder`, `.cannotCreate` or
    ///   `.inputOutput`.
    package static func makeOrRequireClosed(_ path: String) throws(FileError) {
        let folder = withoutSlash(path)
        try makeOne(folder)
        guard let identity = FileIdentity(path: folder) else {
            throw .inputOutput("cannot examine", folder, errno: errno)
        }
        switch identity.type {
        case S_IFDIR: break
        case S_IFLNK: throw .symbolicLink(folder)
        default: throw FileError(.notAFolder, path: folder, "\(folder) is not a folder")
        }
        guard identity.isOwn else { throw .foreignOwner(folder) }
        guard !identity.isExposed else {
            throw FileError(.exposedFolder, path: folder, "other users have access to \(folder)")
        }
    }

    /// Returns whether a folder of this user exists at `path`. Creates and changes nothing.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner` or `.inputOutput`.
    package static func isThere(_ path: String) throws(FileError) -> Bool {
        let folder = withoutSlash(path)
        if FileIdentity(path: folder) == nil, errno == ENOENT { return false }
        close(try openOwn(folder).descriptor)
        return true
    }

    /// Synchronizes the entries of the folder at `path` to disk: files that were created, renamed or removed
    /// in it (fsync(2)).
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package static func synchronize(_ path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot open", path, errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot sync to disk", path, errno: errno) }
    }

    /// Returns the names of all entries of the folder at `path`, including hidden ones, in ascending order.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package static func names(_ path: String) throws(FileError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw .inputOutput("cannot list", path, errno: EIO)
        }
    }

    /// Returns whether `name` is valid for a private file or folder: at most 255 bytes (`NAME_MAX`, limits.h(0p)), no
    /// slash, no NUL, and no leading dot. Such a name cannot leave the folder and is not hidden.
    package static func isPlainName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && !name.utf8.contains(slash) && !name.utf8.contains(0)
    }

    /// Returns the path of the folder that contains `path`; a dot for a path without a slash.
    package static func parent(of path: String) -> String {
        guard let last = path.utf8.lastIndex(of: slash) else { return "." }
        return last == path.startIndex ? "/" : String(Substring(path.utf8[..<last]))
    }

    /// Returns the last name in `path`; nil if the path contains no name.
    package static func name(of path: String) -> String? {
        components(of: path).last.map(String.init)
    }

    /// The separator of names in a path. Paths are split as bytes, like in the kernel: in a `String`, a slash and a
    /// following combining mark are one character that is not a slash.
    static let slash = UInt8(ascii: "/")

    /// Returns the names in `path`.
    static func components(of path: String, omittingEmpty: Bool = true) -> [Substring] {
        path.utf8.split(separator: slash, omittingEmptySubsequences: omittingEmpty).map(Substring.init)
    }

    /// Returns `path` without trailing slashes. With a trailing slash, the system would follow a symbolic link
    /// (path_resolution(7)).
    static func withoutSlash(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// Opens the folder at `folder`, which must not be a symbolic link and must belong to this user. The caller closes the
    /// descriptor.
    static func openOwn(
        _ folder: String
    ) throws(FileError) -> (descriptor: CInt, identity: FileIdentity) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(folder, errno: errno) }
        guard let identity = FileIdentity(descriptor: descriptor) else {
            let code = errno
            close(descriptor)
            throw .inputOutput("cannot examine", folder, errno: code)
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
        for index in path.utf8.indices.dropFirst() where path.utf8[index] == slash {
            let parent = String(Substring(path.utf8[..<index]))
            // An existing parent is not changed. It may belong to any user, be read-only, or be a link.
            guard unsafe access(parent, F_OK) != 0 else { continue }
            try makeOne(parent)
        }
    }

    /// Creates the folder at `path` if it does not exist, and synchronizes its parent to disk, so that a power cut does
    /// not remove the folder with data that was already synchronized.
    ///
    /// - Returns: Whether the folder was created.
    @discardableResult
    private static func makeOne(_ path: String) throws(FileError) -> Bool {
        guard unsafe mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw .cannotCreate(path, errno: errno) }
            return false
        }
        let parent = parent(of: path)
        // A parent that this process can write but not read cannot be synchronized.
        if unsafe access(parent, R_OK) == 0 { try synchronize(parent) }
        return true
    }

    /// Returns the error for a folder at `path` that open(2) rejected with the error number `code`.
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
