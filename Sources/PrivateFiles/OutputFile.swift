private import Glibc

/// Writing of a file whose path the user chose, in a folder that other users may write to, such as `/tmp`.
///
/// Whoever may write to a folder can be there first with a link, a pipe or a file of the name that the user gives, and
/// would redirect, read or keep what is written. The kernel refuses some of that in sticky folders
/// (`fs.protected_symlinks`, `protected_fifos`, `protected_regular`; proc_sys_fs(5)); here it is refused in every folder
/// that others may write to, whatever the kernel's settings.
package enum OutputFile {
    /// Writes `bytes` to the file at `path`, whole or not at all, mode 0600; or into the pipe or device that has the name.
    ///
    /// A symbolic link is followed, and the file that it leads to replaced. A new file is made beside the path (`O_EXCL`)
    /// and renamed, so that nothing that has the name by then is opened or followed.
    ///
    /// - Parameters:
    ///   - bytes: what the file holds then.
    ///   - path: the path that the user gave.
    ///   - replacing: whether an earlier file goes.
    /// - Throws: `FileError`: `.strangersEntry` where a link, a pipe or a file of another user has the name in a folder
    ///   that others may write to; `.alreadyThere` where a file is not to be replaced; `.cannotCreate`;
    ///   `.inputOutput`, also for a folder.
    package static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool = true
    ) throws(FileError) {
        guard let target = try target(of: path) else {
            // Links of the proc file system lead to what is open already, and not to a path.
            return try write(bytes, into: path, flags: 0)
        }
        let folder = PrivateFolder.parent(of: target)
        guard let existing = FileIdentity(path: target) else {
            return try AtomicFile.write(bytes, to: target, replacing: replacing)
        }
        try requireOwn(existing, at: target, in: folder)
        switch existing.type {
        case S_IFREG: try AtomicFile.write(bytes, to: target, replacing: replacing)
        case S_IFDIR: throw .inputOutput("cannot write to", path, errno: EISDIR)
        default: try write(bytes, into: target, flags: O_NOFOLLOW)
        }
    }

    /// The path to which the symbolic links of `path` lead, each of which was looked at; nil where one is a link of the
    /// proc file system, such as `/dev/stdout` leads to.
    private static func target(of path: String) throws(FileError) -> String? {
        var rest = components(path)[...]
        var target = path.hasPrefix("/") ? "/" : ""
        var links = 0
        while let name = rest.popFirst() {
            let folder = target.isEmpty ? "." : target
            let next = target.isEmpty || target.hasSuffix("/") ? target + name : target + "/" + name
            guard let identity = FileIdentity(path: next), identity.type == S_IFLNK else {
                target = next
                continue
            }
            try requireOwn(identity, at: next, in: folder)
            guard !isProc(folder) else { return nil }
            links += 1
            // The kernel follows as many (path_resolution(7)).
            guard links <= 40 else { throw .inputOutput("cannot follow", path, errno: ELOOP) }
            let destination = try link(next)
            if destination.hasPrefix("/") { target = "/" }
            rest = (components(destination) + rest)[...]
        }
        return target
    }

    private static func components(_ path: String) -> [String] {
        // A slash at the end asks for a folder, and so does a dot behind it.
        path.split(separator: "/").map(String.init) + (path.utf8.last == UInt8(ascii: "/") ? ["."] : [])
    }

    /// Refuses what another user made in a folder where others may make files.
    ///
    /// What the superuser or the folder's owner made is theirs to make: they could replace the folder. A character
    /// device can be made by the superuser alone.
    private static func requireOwn(
        _ entry: FileIdentity, at path: String, in folder: String
    ) throws(FileError) {
        guard !entry.isOwn, entry.owner != 0, entry.type != S_IFDIR, entry.type != S_IFCHR else { return }
        guard let parent = FileIdentity(following: folder) else {
            throw .inputOutput("cannot look at", folder, errno: errno)
        }
        // Nobody but this user and the superuser can have put it there.
        if parent.mode & 0o022 == 0, parent.isOwn || parent.owner == 0 { return }
        if entry.type == S_IFLNK, entry.owner == parent.owner { return }
        throw FileError(
            .strangersEntry, path: path,
            "\(path) is \(entry.phrase) of another user in a folder that others may write to")
    }

    /// Writes into what is there: a pipe, a device, or a file that a link of the proc file system leads to.
    private static func write(_ bytes: [UInt8], into path: String, flags: CInt) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags)
        guard descriptor >= 0 else { throw .inputOutput("cannot write to", path, errno: errno) }
        defer { close(descriptor) }
        // Another entry may have got the name since it was looked at.
        guard let identity = FileIdentity(descriptor: descriptor) else {
            throw .inputOutput("cannot look at", path, errno: errno)
        }
        if flags & O_NOFOLLOW != 0 {
            try requireOwn(identity, at: path, in: PrivateFolder.parent(of: path))
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .inputOutput("cannot write to", path, errno: count == 0 ? EIO : errno)
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Where a symbolic link leads to (readlink(2)).
    private static func link(_ path: String) throws(FileError) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        guard count > 0 else { throw .inputOutput("cannot follow", path, errno: count == 0 ? ENOENT : errno) }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether a folder is one of the proc file system, whose links lead to what is open and not to a path (proc(5)).
    private static func isProc(_ folder: String) -> Bool {
        guard let proc = FileIdentity(following: "/proc"), let folder = FileIdentity(following: folder) else {
            return false
        }
        return folder.isOnFileSystem(of: proc)
    }
}

extension FileIdentity {
    /// The type of file in a phrase.
    fileprivate var phrase: String {
        switch type {
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a pipe"
        case S_IFREG: "a file"
        default: "something"
        }
    }
}
