private import Glibc

/// The resolved location of a path that the user chose: the folder, the name in the folder, and the file that currently
/// has the name.
///
/// Used before a file is written, to detect that two paths lead to the same file, or that a path leads into a folder
/// where no file may be written.
package struct FileDestination {
    private let path: String
    /// The bytes of the folder's path without symbolic links, which need not be UTF-8; nil if the folder does not exist.
    private let folder: [UInt8]?
    private let name: Substring
    /// The file that `path` leads to, through links; nil if no file exists there.
    private let existing: FileIdentity?

    /// Resolves `path` without opening or creating a file.
    package init(_ path: String) {
        self.path = path
        name = PrivateFolder.components(of: path).last ?? ""
        if let resolved = unsafe realpath(PrivateFolder.parent(of: path), nil) {
            defer { unsafe free(resolved) }
            folder = unsafe Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
        } else {
            folder = nil
        }
        existing = FileIdentity(following: path)
    }

    /// Returns whether both locations are the same file, under the same name or different ones.
    package func isSame(as other: FileDestination) -> Bool {
        if let folder, folder == other.folder, name == other.name { return true }
        guard let existing, let theirs = other.existing else { return false }
        return existing.isSameFile(as: theirs)
    }

    /// Returns whether the location is the folder `parent`, or is inside it at any depth.
    ///
    /// - Parameter parent: An absolute path without symbolic links.
    package func isInside(_ parent: String) -> Bool {
        guard let folder else { return false }
        return (folder + Array("/\(name)/".utf8)).starts(with: (parent + "/").utf8)
    }

    /// Whether the name is in use, even by a symbolic link without a target.
    package var isTaken: Bool { FileIdentity(path: path) != nil }

    /// Checks that the path can be replaced with a file: nothing exists there, or a regular file does.
    ///
    /// - Throws: `FileError.Code.unsuitablePath` for anything else, such as a folder or a pipe.
    package func requireFile() throws(FileError) {
        guard existing.map({ $0.type == S_IFREG }) != false else {
            throw FileError(.unsuitablePath, path: path, "\(path) is not a regular file")
        }
    }
}
