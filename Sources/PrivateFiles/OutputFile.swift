private import Glibc

/// Writes files at paths that the user chose, in folders that other users can write to, such as `/tmp`.
///
/// Another user with write access to the folder could create a link, a pipe or a file of that name, and so redirect or
/// read the output. The kernel prevents some of this in sticky folders (`fs.protected_symlinks`, `protected_fifos`,
/// `protected_regular`; proc_sys_fs(5)). This type prevents it in every folder that other users can write to,
/// regardless of the kernel's settings.
package enum OutputFile {
    /// Writes `bytes` to the file at `path`, completely or not at all, mode 0600. If `path` is a pipe or a device,
    /// writes to it directly.
    ///
    /// A symbolic link is followed, and its target replaced. A new file is created next to the path (`O_EXCL`) and
    /// renamed, so a file that is created under the name in the meantime is neither opened nor followed.
    ///
    /// - Parameters:
    ///   - bytes: The new contents of the file.
    ///   - path: The path from the user.
    ///   - replacing: Whether an earlier file is replaced.
    /// - Throws: `FileError`: `.foreignEntry` if the name belongs to another user's link, pipe or file in a folder
    ///   that other users can write to, or if another user replaced the new file; `.alreadyThere` if a file must not be
    ///   replaced; `.cannotCreate`; `.inputOutput`, also for a folder.
    package static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool = true
    ) throws(FileError) {
        switch try place(of: path) {
        case .file(let target): try AtomicFile.write(bytes, to: target, replacing: replacing)
        case .open(let target, let flags):
            try write(into: target, flags: flags) { $0 = $0 == nil ? bytes : [] }
        }
    }

    /// Copies the contents of an open file, from its first byte, to `path`. Like `write(_:to:replacing:)`, but does not
    /// load all of the contents into memory.
    ///
    /// - Parameters:
    ///   - source: An open file that can be read from the start.
    ///   - path: The path from the user.
    ///   - replacing: Whether an earlier file is replaced.
    /// - Throws: `FileError`, like `write(_:to:replacing:)`.
    package static func write(
        contentsOf source: CInt, to path: String, replacing: Bool = true
    ) throws(FileError) {
        switch try place(of: path) {
        case .file(let target):
            try AtomicFile.write(to: target, replacing: replacing) { descriptor throws(FileError) in
                try OpenFile.copy(source, to: descriptor, named: path)
            }
        case .open(let target, let flags):
            guard lseek(source, 0, SEEK_SET) == 0 else {
                throw .inputOutput("cannot read", "a temporary file", errno: errno)
            }
            try write(into: target, flags: flags) { chunk throws(FileError) in
                chunk = try OpenFile.read(source, named: "a temporary file")
            }
        }
    }

    /// The way to write to a path.
    private enum Place {
        /// A file to create or replace.
        case file(String)
        /// A pipe, a device, or the target of a link in the proc file system, with the flags for open(2).
        case open(String, CInt)
    }

    private static func place(of path: String) throws(FileError) -> Place {
        // Links in the proc file system lead to open files, not to paths.
        guard let target = try target(of: path) else { return .open(path, 0) }
        guard let existing = FileIdentity(path: target) else { return .file(target) }
        try requireOwn(existing, at: target, in: PrivateFolder.parent(of: target))
        switch existing.type {
        case S_IFREG: return .file(target)
        case S_IFDIR: throw .inputOutput("cannot write to", path, errno: EISDIR)
        default: return .open(target, O_NOFOLLOW)
        }
    }

    /// Follows all symbolic links in `path` and returns the resulting path. Nil if a link is in the proc file system,
    /// such as the target of `/dev/stdout`.
    ///
    /// - Throws: `FileError`: `.foreignEntry` if `requireOwn(_:at:in:)` rejects a link; `.inputOutput`.
    private static func target(of path: String) throws(FileError) -> String? {
        var rest = components(path)[...]
        var target = path.utf8.first == PrivateFolder.slash ? "/" : ""
        var links = 0
        while let name = rest.popFirst() {
            let folder = target.isEmpty ? "." : target
            let isFolder = target.isEmpty || target.utf8.last == PrivateFolder.slash
            let next = isFolder ? target + name : target + "/" + name
            guard let identity = FileIdentity(path: next), identity.type == S_IFLNK else {
                target = next
                continue
            }
            try requireOwn(identity, at: next, in: folder)
            guard !isProc(folder) else { return nil }
            links += 1
            // The kernel follows the same number of links (path_resolution(7)).
            guard links <= 40 else {
                throw .inputOutput("cannot follow the symbolic link", path, errno: ELOOP)
            }
            let destination = try link(next)
            if destination.utf8.first == PrivateFolder.slash { target = "/" }
            rest = (components(destination) + rest)[...]
        }
        return target
    }

    private static func components(_ path: String) -> [String] {
        // A path with a trailing slash must be a folder. The appended dot keeps that requirement.
        PrivateFolder.components(of: path).map(String.init)
            + (path.utf8.last == PrivateFolder.slash ? ["."] : [])
    }

    /// Throws if another user created the entry in a folder where others may create files.
    ///
    /// Entries of the superuser and of the folder's owner are accepted, because these users could replace the
    /// folder. Character devices are accepted, because only the superuser can create them.
    private static func requireOwn(
        _ entry: FileIdentity, at path: String, in folder: String
    ) throws(FileError) {
        guard !entry.isOwn, entry.owner != 0, entry.type != S_IFDIR, entry.type != S_IFCHR else { return }
        guard let parent = FileIdentity(following: folder) else {
            throw .inputOutput("cannot examine", folder, errno: errno)
        }
        // Only this user and the superuser can have created the entry.
        if parent.mode & 0o022 == 0, parent.isOwn || parent.owner == 0 { return }
        if entry.type == S_IFLNK, entry.owner == parent.owner { return }
        throw FileError(
            .foreignEntry, path: path,
            "\(path) is \(entry.phrase) that belongs to another user, in a folder that other users can write to"
        )
    }

    /// Writes to an existing pipe or device, or to the file that a link in the proc file system leads to.
    ///
    /// - Parameter next: Receives the previous bytes (nil in the first call), and replaces them with the next bytes to
    ///   write. An empty array ends the file.
    private static func write(
        into path: String, flags: CInt, next: (inout [UInt8]?) throws(FileError) -> Void
    ) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags)
        guard descriptor >= 0 else { throw .inputOutput("cannot write to", path, errno: errno) }
        defer { close(descriptor) }
        // Another user may have replaced the entry since it was checked.
        guard let identity = FileIdentity(descriptor: descriptor) else {
            throw .inputOutput("cannot examine", path, errno: errno)
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

    /// Returns the target of a symbolic link (readlink(2)).
    ///
    /// - Throws: `FileError.Code.inputOutput`, with EILSEQ if the target is not UTF-8.
    private static func link(_ path: String) throws(FileError) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &buffer, buffer.count)
        guard count > 0 else {
            throw .inputOutput("cannot follow the symbolic link", path, errno: count == 0 ? ENOENT : errno)
        }
        let bytes = buffer.prefix(count).map(UInt8.init(bitPattern:))
        guard let target = String(validating: bytes, as: UTF8.self) else {
            throw .inputOutput("cannot follow the symbolic link", path, errno: EILSEQ)
        }
        return target
    }

    /// Returns whether a folder is in the proc file system. Links in that file system lead to open files and not to
    /// paths (proc(5)).
    private static func isProc(_ folder: String) -> Bool {
        guard let proc = FileIdentity(following: "/proc"), let folder = FileIdentity(following: folder) else {
            return false
        }
        return folder.isOnFileSystem(of: proc)
    }
}

extension FileIdentity {
    /// The type of file as a noun with its article, for an error message.
    fileprivate var phrase: String {
        switch type {
        case S_IFLNK: "a symbolic link"
        case S_IFIFO: "a pipe"
        case S_IFREG: "a file"
        default: "something"
        }
    }
}
