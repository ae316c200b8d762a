private import Glibc

/// Where a file that a user names goes to: the folder, whatever way leads there, the name in it, and the file
/// that has the name now.
///
/// For telling whether two names mean one file before either is written.
struct FilePlace {
    private let path: String
    /// The folder's path without symbolic links; nil where there is no such folder.
    private let folder: String?
    private let name: Substring
    private let identity: FileIdentity?

    /// The place that `path` means; nothing is opened or made.
    init(_ path: String) {
        self.path = path
        name = path.split(separator: "/").last ?? ""
        if let resolved = unsafe realpath(Folder.parent(of: path), nil) {
            defer { unsafe free(resolved) }
            folder = unsafe String(cString: resolved)
        } else {
            folder = nil
        }
        identity = FileIdentity(path)
    }

    /// Whether both are one file, by whatever names.
    func isSame(as other: FilePlace) -> Bool {
        if let folder, folder == other.folder, name == other.name { return true }
        return identity != nil && identity == other.identity
    }

    /// Whether it is the folder `parent`, which is given without symbolic links, or in it.
    func isInside(_ parent: String) -> Bool {
        guard let folder else { return false }
        return (folder + "/" + name + "/").hasPrefix(parent + "/")
    }

    /// Whether something has the name, be it a link that leads nowhere.
    var isTaken: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Refuses what is there and no file, such as a folder or a device: to replace it is never meant.
    ///
    /// - Throws: `DeviceError.Code.unsuitablePath`.
    func requireFile() throws(DeviceError) {
        guard identity?.isRegular != false else {
            throw DeviceError(.unsuitablePath, path: path, "\(path) is no regular file")
        }
    }
}

/// A file itself, as the system tells it from every other.
private struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t
    let isRegular: Bool

    /// What `path` leads to; nil where nothing is.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = status.st_dev
        number = status.st_ino
        isRegular = status.st_mode & S_IFMT == S_IFREG
    }
}
