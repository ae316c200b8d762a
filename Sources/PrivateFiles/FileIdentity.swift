package import Glibc

/// The kernel's identity of a file (device and inode number, stat(2)), with its type, mode, owner and size at
/// the time of the call.
package struct FileIdentity: Sendable {
    private let device: UInt
    private let inode: UInt
    /// Type and permissions (`st_mode`, inode(7)).
    package let mode: mode_t
    /// The user id of the owner.
    package let owner: uid_t
    /// The size in bytes.
    package let size: Int

    /// Reads the identity of the file at `path`, without following a symbolic link in its last component
    /// (lstat(2)).
    ///
    /// Nil if there is no such file, or if it cannot be read; `errno` is the reason.
    package init?(path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the identity of the file that `path` leads to through symbolic links (stat(2)).
    ///
    /// Nil if there is no such file, or if it cannot be read; `errno` is the reason.
    package init?(following path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the identity of an open file (fstat(2)); nil if the call fails, and `errno` is the reason.
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

    /// The type of file from the mode, such as `S_IFREG`.
    package var type: mode_t { mode & S_IFMT }
    /// Whether this process's effective user owns the file.
    package var isOwn: Bool { owner == geteuid() }
    /// Whether the permissions let users other than the owner read, write or execute the file, or enter the folder.
    package var isExposed: Bool { mode & 0o077 != 0 }

    /// Returns whether both are on the same file system.
    package func isOnFileSystem(of other: FileIdentity) -> Bool { device == other.device }

    /// Returns whether both are the same file. Mode, owner and size may differ.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}
