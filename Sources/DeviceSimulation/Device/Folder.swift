private import Foundation
private import Glibc

/// Folders that belong to this user alone.
package enum Folder {
    /// Makes sure that `path` is a folder of this user's that is closed to others, made with mode 0700 if it is
    /// not there. What its owner may do in one that is there stays.
    ///
    /// The last component may be no symbolic link: whoever can place one could lead secrets elsewhere.
    ///
    /// - Parameter marker: the folder in it by which a folder that may be closed to others is known. One that
    ///   is open, holds things and has no such folder of this user's is left as it is and refused. Nil where
    ///   every folder may be closed.
    package static func make(
        _ path: String, withParents: Bool = false, marker: String? = nil
    ) throws(DeviceError) {
        let folder = withoutSlash(path)
        if withParents { try makeParents(of: folder) }
        let isNew = try makeOne(folder)
        let (descriptor, status) = try openOwn(folder)
        defer { close(descriptor) }
        // A new one may lack what the process's mask took; one of ours that is read-only is meant to be.
        let mode = isNew ? 0o700 : status.st_mode & 0o700
        guard status.st_mode & 0o777 != mode else { return }
        if let marker, !isNew {
            guard try names(folder).isEmpty || isOwnFolder(folder + "/" + marker) else {
                throw DeviceError(
                    .exposedFolder, path: folder,
                    "\(folder) is open to other users, and what is in it is no device")
            }
        }
        guard fchmod(descriptor, mode) == 0 else {
            throw .inputOutput("cannot close to others", folder, errno: errno)
        }
    }

    /// Whether there is a folder of this user's at `path`; it stays as it is.
    ///
    /// - Throws: `DeviceError` where something else is.
    package static func isThere(_ path: String) throws(DeviceError) -> Bool {
        let folder = withoutSlash(path)
        var status = stat()
        if unsafe lstat(folder, &status) != 0, errno == ENOENT { return false }
        close(try openOwn(folder).descriptor)
        return true
    }

    /// A slash at the end would make the system follow a link.
    private static func withoutSlash(_ path: String) -> String {
        var path = Substring(path)
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    private static func openOwn(_ folder: String) throws(DeviceError) -> (descriptor: CInt, status: stat) {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal(folder, errno: errno) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw .inputOutput("cannot look at", folder, errno: code)
        }
        guard status.st_uid == geteuid() else {
            close(descriptor)
            throw DeviceError(.foreignOwner, path: folder, "\(folder) belongs to another user")
        }
        return (descriptor, status)
    }

    /// Brings a folder's entries to disk: files that were made, renamed or removed in it.
    package static func synchronize(_ path: String) throws(DeviceError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot open", path, errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot bring to disk", path, errno: errno) }
    }

    /// The names of what is in a folder, in their order.
    ///
    /// - Throws: `DeviceError` when it cannot be listed.
    package static func names(_ path: String) throws(DeviceError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw .inputOutput("cannot list", path, errno: EIO)
        }
    }

    /// Whether a file or folder of a folder of ours may be called `name`: it leads nowhere else, hides nothing
    /// and is no longer than a file system takes (`NAME_MAX`).
    package static func isPlainName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !name.hasPrefix(".")
            && !name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0)
    }

    /// The path of the folder that holds `path`.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func isOwnFolder(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid()
    }

    private static func makeParents(of path: String) throws(DeviceError) {
        for index in path.indices.dropFirst() where path[index] == "/" {
            let parent = String(path[..<index])
            // Only the missing ones: a parent that is there may be anybody's, on a read-only disk, or a link.
            guard unsafe access(parent, F_OK) != 0 else { continue }
            try makeOne(parent)
        }
    }

    /// Makes a folder that is not there, and brings its name to disk: what is acknowledged in it later must
    /// not go with it in a power cut.
    ///
    /// - Returns: whether it was not there.
    @discardableResult
    private static func makeOne(_ path: String) throws(DeviceError) -> Bool {
        guard unsafe mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw .cannotCreate(path, errno: errno) }
            return false
        }
        let parent = parent(of: path)
        // A folder may take new entries and yet not let us open it.
        if unsafe access(parent, R_OK) == 0 { try synchronize(parent) }
        return true
    }

    private static func refusal(_ path: String, errno code: Int32) -> DeviceError {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return .inputOutput("cannot open", path, errno: code) }
        return switch status.st_mode & S_IFMT {
        case S_IFLNK: DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
        case S_IFDIR where status.st_uid != geteuid():
            DeviceError(.foreignOwner, path: path, "\(path) belongs to another user")
        case S_IFDIR: .inputOutput("cannot open", path, errno: code)
        default: DeviceError(.notAFolder, path: path, "\(path) is not a folder")
        }
    }
}
