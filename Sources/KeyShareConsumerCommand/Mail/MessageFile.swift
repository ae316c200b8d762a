import CommandSupport
import Foundation
import SecureMail

/// An input file: one named on the command line, or one found in a folder.
struct MessageFile {
    /// The path, or `-` for standard input.
    let path: String
    /// The name in documents and tables.
    let name: String
    /// Whether the file was found in a folder. Such a file is skipped if it is not a message.
    let isFound: Bool

    /// Expands an argument: a folder becomes its regular files, sorted by name; any other argument is one file.
    ///
    /// - Throws: `CommandFailure` for a folder that cannot be read, is empty or has too many files.
    static func all(at path: String) throws -> [MessageFile] {
        var isFolder: ObjCBool = false
        guard path != "-", unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue
        else { return [MessageFile(path: path, name: path, isFound: false)] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw CommandFailure(.unreadable, "cannot read \(path)")
        }
        guard names.count <= MailLimits.files else {
            throw CommandFailure(
                .tooLarge, "\(path) has \(names.count) files; at most \(MailLimits.files) are accepted")
        }
        let found = names.compactMap { name -> MessageFile? in
            let file = path.hasSuffix("/") ? path + name : path + "/" + name
            return !name.hasPrefix(".") && isRegular(file)
                ? MessageFile(path: file, name: name, isFound: true) : nil
        }
        guard !found.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "\(path) contains no files", hint: "specify a folder of messages")
        }
        return found
    }

    /// Whether the path names a regular file. Subfolders are skipped, and so are pipes, because opening one would wait
    /// for a writer.
    private static func isRegular(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            && !isFolder.boolValue
            && (try? FileManager.default.attributesOfItem(
                atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)[.type])
                as? FileAttributeType == .typeRegular
    }
}
