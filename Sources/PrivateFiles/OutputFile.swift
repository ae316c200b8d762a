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
        switch try place(of: path) {
        case .file(let target): try AtomicFile.write(bytes, to: target, replacing: replacing)
        case .open(let target, let flags):
            try write(into: target, flags: flags) { $0 = $0 == nil ? bytes : [] }
        }
    }

    /// Writes what an open file holds, from its first byte on, as `write(_:to:replacing:)` does, without having all of it
    /// in memory.
    ///
    /// - Parameters:
    ///   - source: an open file that can be read from the start.
    ///   - path: the path that the user gave.
    ///   - replacing: whether an earlier file goes.
    /// - Throws: `FileError`, as `write(_:to:replacing:)`.
    package static func write(
        contentsOf source: CInt, to path: String, replacing: Bool = true
    ) throws {
        switch try place(of: path) {
        case .file(let target):
            try AtomicFile.write(to: target, replacing: replacing) { temporary in
                let descriptor = unsafe open(temporary, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
                guard descriptor >= 0 else { throw FileError.cannotCreate(path, errno: errno) }
                defer { close(descriptor) }
                try OpenFile.copy(source, to: descriptor, named: path)
            }
        case .open(let target, let flags):
            guard lseek(source, 0, SEEK_SET) == 0 else {
                throw FileError.inputOutput("cannot read", "a temporary file", errno: errno)
            }
            try write(into: target, flags: flags) { chunk throws(FileError) in
                chunk = try OpenFile.read(source, named: "a temporary file")
            }
        }
    }

    /// What a path leads to.
    private enum Place {
        /// A file that is made or replaced.
        case file(String)
        /// A pipe, a device, or what a link of the proc file system leads to, with the flags to open it with.
        case open(String, CInt)
    }

    private static func place(of path: String) throws(FileError) -> Place {
        // Links of the proc file system lead to what is open already, and not to a path.
        guard let target = try target(of: path) else { return .open(path, 0) }
        guard let existing = FileIdentity(path: target) else { return .file(target) }
        try requireOwn(existing, at: target, in: PrivateFolder.parent(of: target))
        switch existing.type {
        case S_IFREG: return .file(target)
        case S_IFDIR: throw .inputOutput("cannot write to", path, errno: EISDIR)
        default: return .open(target, O_NOFOLLOW)
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
    ///
    /// - Parameter next: puts the next bytes in place of the last ones, which are nil at first; none at the end.
    private static func write(
        into path: String, flags: CInt, next: (inout [UInt8]?) throws(FileError) -> Void
    ) throws(FileError) {
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
        var chunk: [UInt8]?
        while true {
            try next(&chunk)
            guard let chunk, !chunk.isEmpty else { return }
            try OpenFile.write(chunk, to: descriptor, named: path)
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
