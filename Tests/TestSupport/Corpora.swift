internal import Foundation

/// Optional PKCS #12 files from other sources, which are not part of the project. Tests that need them have the trait
/// `.enabled(if: Corpora.isAvailable)`.
package enum Corpora {
    /// The folder of the files: `KEYSHARE_CORPORA`, or `shared/corpora` next to the package.
    package static let folder: String =
        ProcessInfo.processInfo.environment["KEYSHARE_CORPORA"] ?? PackageFolder.path + "/../shared/corpora"

    /// Whether the folder exists and has a manifest.
    package static var isAvailable: Bool {
        FileManager.default.fileExists(atPath: folder + "/manifest.tsv")
    }

    /// The message for tests that are skipped because the files are missing.
    package static let skipped =
        "no corpora are next to the package (KEYSHARE_CORPORA can name another folder)"

    /// One line of the manifest.
    package struct Entry: Sendable, CustomStringConvertible {
        /// The values of the line, keyed by column name.
        package let columns: [String: String]

        /// The path of the file relative to the folder of the corpora.
        package var path: String { columns["path"] ?? "" }
        package var description: String { path }

        /// The file's password, which may be empty; nil if no password is needed or known.
        package var password: String? {
            switch columns["password_kind"] {
            case "text", "utf-8": columns["password"] ?? ""
            case "empty": ""
            default: nil
            }
        }

        /// Reads the file.
        ///
        /// - Throws: The error of the file system.
        package func bytes() throws -> [UInt8] {
            Array(try Data(contentsOf: URL(fileURLWithPath: Corpora.folder + "/" + path)))
        }
    }

    /// All lines of the manifest; empty if the folder is missing.
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

    /// Returns the files in one subfolder of the corpora.
    package static func files(in name: String) -> [Entry] {
        entries.filter { $0.path.hasPrefix(name + "/") }
    }
}

/// The location of the package while its tests run.
package enum PackageFolder {
    /// The absolute path of the package's root folder.
    package static let path: String = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
}
