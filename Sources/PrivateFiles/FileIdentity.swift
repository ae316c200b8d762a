package import Glibc

/// A file as the kernel tells it from every other (device and inode number, stat(2)), with its type, mode, owner
/// and size at the moment of the look.
package struct FileIdentity: Sendable {
    private let device: UInt
    private let inode: UInt
    /// Type and permissions (`st_mode`, inode(7)).
    package let mode: mode_t
    /// The user id of the owner.
    package let owner: uid_t
    /// The size in bytes.
    package let size: Int

    /// Looks at what `path` names, without following a symbolic link in its last component (lstat(2)).
    ///
    /// Nil where nothing has that name, or where it cannot be looked at; `errno` says why.
    package init?(path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Looks at what `path` leads to through symbolic links (stat(2)).
    ///
    /// Nil where it leads to nothing, or where that cannot be looked at; `errno` says why.
    package init?(following path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Looks at an open file (fstat(2)); nil where the system does not answer, and `errno` says why.
    package init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        mode = status.st_mode
        owner = status.st_uid
        size = Int(status.st_size)
    }

    /// The type of file alone, such as `S_IFREG`.
    package var type: mode_t { mode & S_IFMT }
    /// Whether this process's effective user owns the file.
    package var isOwn: Bool { owner == geteuid() }
    /// Whether the permissions let anybody but the owner read, write, execute or enter.
    package var isExposed: Bool { mode & 0o077 != 0 }

    /// Tells whether both are on one file system.
    package func isOnFileSystem(of other: FileIdentity) -> Bool { device == other.device }

    /// Tells whether two looks saw one file. Mode, owner and size may have changed in between.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}
