private import Glibc

/// An entry of a folder.
package struct FolderEntry: Sendable, Hashable {
    /// The name. If it is not UTF-8, U+FFFD replaces its invalid bytes, and a path with this name leads to another file.
    package let name: String
    /// Whether the name is UTF-8.
    fileprivate let isUTF8: Bool
    /// The type of file, such as `S_IFREG`; nil if the entry cannot be examined, such as a link whose target is missing.
    fileprivate let type: mode_t?

    /// Whether commands that read all files of a folder read this entry: it is no folder, and its name does not start with
    /// a dot.
    package var isVisibleFile: Bool { type != S_IFDIR && name.utf8.first != UInt8(ascii: ".") }

    /// The reason why the entry cannot be read as a file by its path; nil for a regular file.
    package var obstacle: String? {
        guard let type else { return "cannot be read" }
        guard type == S_IFREG else { return "not a regular file" }
        return isUTF8 ? nil : "the name is not UTF-8; rename the file"
    }
}

extension PrivateFolder {
    /// Returns all entries of the folder at `path`, including hidden ones, in ascending order of their names. No entry is
    /// opened.
    ///
    /// - Parameters:
    ///   - path: The path of the folder, which may belong to any user.
    ///   - followingLinks: Whether the type of a symbolic link is that of its target.
    /// - Throws: `FileError.Code.inputOutput`.
    package static func entries(
        _ path: String, followingLinks: Bool
    ) throws(FileError) -> [FolderEntry] {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("cannot list", path, errno: errno) }
        defer { close(descriptor) }
        return try entries(of: descriptor, at: path, followingLinks: followingLinks)
    }

    /// Returns all entries of an open folder, like `entries(_:followingLinks:)`.
    static func entries(
        of folder: CInt, at path: String, followingLinks: Bool
    ) throws(FileError) -> [FolderEntry] {
        try encodedNames(in: folder, at: path).map { name in
            var status = stat()
            let flags = followingLinks ? 0 : AT_SYMLINK_NOFOLLOW
            let isKnown = unsafe fstatat(folder, name, &status, flags) == 0
            let bytes = name.dropLast().map(UInt8.init(bitPattern:))
            return FolderEntry(
                name: String(decoding: bytes, as: UTF8.self),
                isUTF8: String(validating: bytes, as: UTF8.self) != nil,
                type: isKnown ? status.st_mode & S_IFMT : nil)
        }.sorted { $0.name < $1.name }
    }

    /// Returns the names in an open folder, each with a NUL at its end. A name can be invalid UTF-8.
    static func encodedNames(in folder: CInt, at path: String) throws(FileError) -> [[CChar]] {
        // closedir(3) closes the descriptor of the stream, so the stream gets its own.
        let own = unsafe openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { throw .inputOutput("cannot list", path, errno: errno) }
        guard let stream = unsafe fdopendir(own) else {
            let code = errno
            close(own)
            throw .inputOutput("cannot list", path, errno: code)
        }
        defer { unsafe closedir(stream) }
        var names: [[CChar]] = []
        while true {
            // readdir(3) also returns NULL at the end.
            errno = 0
            guard let entry = unsafe readdir(stream), let field = unsafe entry.pointer(to: \.d_name) else {
                guard errno == 0 else { throw .inputOutput("cannot list", path, errno: errno) }
                return names
            }
            let text = unsafe UnsafeRawPointer(field).assumingMemoryBound(to: CChar.self)
            let name = unsafe Array(UnsafeBufferPointer(start: text, count: strlen(text) + 1))
            let dot = CChar(UInt8(ascii: "."))
            if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
        }
    }
}
