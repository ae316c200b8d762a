private import Glibc

/// The resolved location of a path that the user chose: a folder, a name in it, and the file that has the
/// name now.
///
/// Used to find out, before a file is written, whether two paths name the same file, and whether a path leads
/// into a folder where no file may be written.
package struct FileDestination {
    private let path: String
    /// The folder's path without symbolic links; nil if the folder does not exist.
    private let folder: String?
    private let name: Substring
    /// The file that `path` leads to, through links; nil if there is no such file.
    private let existing: FileIdentity?

    /// Resolves `path`; opens and creates nothing.
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

    /// Returns whether both are the same file, with one name or several.
    package func isSame(as other: FileDestination) -> Bool {
        if let folder, folder == other.folder, name == other.name { return true }
        guard let existing, let theirs = other.existing else { return false }
        return existing.isSameFile(as: theirs)
    }

    /// Returns whether the location is the folder `parent` or is in it.
    ///
    /// - Parameter parent: an absolute path without symbolic links.
    package func isInside(_ parent: String) -> Bool {
        guard let folder else { return false }
        return (folder + "/" + name + "/").hasPrefix(parent + "/")
    }

    /// Whether the name is in use, even by a symbolic link without a target.
    package var isTaken: Bool { FileIdentity(path: path) != nil }

    /// Throws if the path names something other than a regular file, such as a folder or a pipe, which a user
    /// does not intend to replace with a file.
    ///
    /// - Throws: `FileError.Code.unsuitablePath`.
    package func requireFile() throws(FileError) {
        guard existing.map({ $0.type == S_IFREG }) != false else {
            throw FileError(.unsuitablePath, path: path, "\(path) is not a regular file")
        }
    }
}
