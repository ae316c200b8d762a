private import Glibc

/// The place that a path chosen by the user names: a folder, whichever way leads there, a name in it, and the file
/// that has the name now.
///
/// Tells whether two paths mean one file before either is written, and whether a path leads into a folder where
/// nothing may be written.
package struct FileDestination {
    private let path: String
    /// The folder's path without symbolic links; nil where there is no such folder.
    private let folder: String?
    private let name: Substring
    /// The file that `path` leads to, through links; nil where there is none.
    private let existing: FileIdentity?

    /// Looks up the place that `path` names; nothing is opened or made.
    package init(_ path: String) {
        self.path = path
        name = path.split(separator: "/").last ?? ""
        if let resolved = unsafe realpath(PrivateFolder.parent(of: path), nil) {
            defer { unsafe free(resolved) }
            folder = unsafe String(cString: resolved)
        } else {
            folder = nil
        }
        existing = FileIdentity(following: path)
    }

    /// Tells whether both are one file, by one name or by several.
    package func isSame(as other: FileDestination) -> Bool {
        if let folder, folder == other.folder, name == other.name { return true }
        guard let existing, let theirs = other.existing else { return false }
        return existing.isSameFile(as: theirs)
    }

    /// Tells whether the place is the folder `parent` or lies in it.
    ///
    /// - Parameter parent: an absolute path without symbolic links.
    package func isInside(_ parent: String) -> Bool {
        guard let folder else { return false }
        return (folder + "/" + name + "/").hasPrefix(parent + "/")
    }

    /// Whether something has the name, be it a symbolic link that leads nowhere.
    package var isTaken: Bool { FileIdentity(path: path) != nil }

    /// Refuses a place where something other than a regular file is, such as a folder or a pipe: no user means to
    /// replace that by a file.
    ///
    /// - Throws: `FileError.Code.unsuitablePath`.
    package func requireFile() throws(FileError) {
        guard existing.map({ $0.type == S_IFREG }) != false else {
            throw FileError(.unsuitablePath, path: path, "\(path) is no regular file")
        }
    }
}
