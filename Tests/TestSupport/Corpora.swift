internal import Foundation

/// PKCS #12 files made by others, which stand beside the project where they are to be had and are no part
/// of it. Tests that need them say `.enabled(if: Corpora.isAvailable)`.
package enum Corpora {
    /// Where they are looked for: `KEYSHARE_CORPORA`, or `shared/corpora` beside the package.
    package static let folder: String =
        ProcessInfo.processInfo.environment["KEYSHARE_CORPORA"] ?? PackageFolder.path + "/../shared/corpora"

    /// Whether the folder is there with its manifest.
    package static var isAvailable: Bool {
        FileManager.default.fileExists(atPath: folder + "/manifest.tsv")
    }

    /// What to say of a test that is skipped for want of them.
    package static let skipped =
        "there are no corpora beside the package (KEYSHARE_CORPORA names another place)"

    /// One line of the manifest, by the name of its columns.
    package struct Entry: Sendable, CustomStringConvertible {
        /// The values of the line by the names of the columns.
        package let columns: [String: String]

        /// The file's path below the folder.
        package var path: String { columns["path"] ?? "" }
        package var description: String { path }

        /// The file's password, empty where that is the password; nil where none is needed or known.
        package var password: String? {
            switch columns["password_kind"] {
            case "text", "utf-8": columns["password"] ?? ""
            case "empty": ""
            default: nil
            }
        }

        /// The file's bytes.
        ///
        /// - Throws: what the file system says.
        package func bytes() throws -> [UInt8] {
            Array(try Data(contentsOf: URL(fileURLWithPath: Corpora.folder + "/" + path)))
        }
    }

    /// The whole manifest; empty where the folder is missing.
    package static let entries: [Entry] = {
        guard let text = try? String(contentsOfFile: folder + "/manifest.tsv", encoding: .utf8) else {
            return []
        }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: true)[...]
        guard let header = lines.popFirst()?.split(separator: "\t", omittingEmptySubsequences: false) else {
            return []
        }
        return lines.map { line in
            let cells = line.split(separator: "\t", omittingEmptySubsequences: false)
            return Entry(
                columns: Dictionary(
                    zip(header, cells).map { (String($0), String($1)) }, uniquingKeysWith: { $1 }))
        }
    }()

    /// The files of one of the corpora's folders, by path.
    package static func files(in name: String) -> [Entry] {
        entries.filter { $0.path.hasPrefix(name + "/") }
    }
}

/// Where the package's own files lie while its tests run.
package enum PackageFolder {
    /// The package's root.
    package static let path: String = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
}
