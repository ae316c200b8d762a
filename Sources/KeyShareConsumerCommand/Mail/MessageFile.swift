import CommandSupport
import Foundation
import PrivateFiles
import SecureMail

/// An input file: one named on the command line, or one found in a folder.
struct MessageFile {
    /// The path, or `-` for standard input.
    let path: String
    /// The name in documents and tables.
    let name: String
    /// Whether the file was found in a folder. Such a file is skipped if it is not a message.
    let isFound: Bool
    /// The reason why a file in a folder cannot be read; nil if it may be readable.
    let obstacle: String?

    /// Expands an argument: a folder becomes its entries, sorted by name, without subfolders and hidden entries; any
    /// other argument is one file.
    ///
    /// - Throws: `CommandFailure` for a folder that cannot be read, is empty or has too many files.
    static func all(at path: String) throws -> [MessageFile] {
        var isFolder: ObjCBool = false
        guard path != "-", unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue
        else { return [MessageFile(path: path, name: path, isFound: false, obstacle: nil)] }
        let entries = try PrivateFolder.entries(path, followingLinks: true)
        guard entries.count <= MailLimits.files else {
            throw CommandFailure(
                .tooLarge, "\(path) has \(entries.count) files; at most \(MailLimits.files) are accepted")
        }
        let found = entries.filter(\.isVisibleFile).map {
            MessageFile(
                path: path.hasSuffix("/") ? path + $0.name : path + "/" + $0.name, name: $0.name,
                isFound: true, obstacle: $0.obstacle)
        }
        guard !found.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "\(path) contains no files", hint: "specify a folder of messages")
        }
        return found
    }

    /// Opens the file, as `InputFile.withFile(_:scratch:onlyRegular:_:)` does. In a folder, only regular files are
    /// opened.
    ///
    /// - Throws: `CommandFailure` 74 if the file cannot be read; `FileError`; the errors of `body`.
    func withContents<Result>(scratch: String, _ body: (CInt) throws -> Result) throws -> Result {
        if let obstacle { throw CommandFailure(.unreadable, "cannot read \(path): \(obstacle)") }
        return try InputFile.withFile(path, scratch: scratch, onlyRegular: isFound, body)
    }
}
