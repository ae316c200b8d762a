internal import Diagnostics
private import Glibc

/// The reason why a private file or folder could not be created, read, written or locked, or was rejected because other
/// users could access it.
package struct FileError: Failure {
    /// The kinds of failure.
    package enum Code: Hashable, Sendable {
        /// The path of a private folder or file is a symbolic link.
        case symbolicLink
        /// The path of a folder leads to something that is not a folder.
        case notAFolder
        /// The folder or file belongs to another user.
        case foreignOwner
        /// Other users can read or write a file that contains secrets.
        case exposedFile
        /// Other users can enter the folder, and this program must not change its permissions.
        case exposedFolder
        /// A file has invalid contents, or is not a regular file.
        case damagedFile
        /// The name is in use, and must not be replaced.
        case alreadyThere
        /// The name belongs to another user's link, pipe or file, in a folder that other users can write to.
        case foreignEntry
        /// A folder to replace contains files that must not be removed.
        case otherFiles
        /// A file cannot be written to this path, for example because the path is not a regular file or not a valid
        /// name.
        case unsuitablePath
        /// A file or folder could not be created. The value is the `errno` of the system call.
        case cannotCreate(Int32)
        /// Reading, writing, locking or synchronizing failed. The value is the `errno` of the system call.
        case inputOutput(Int32)
    }

    /// The kind of failure.
    package let code: Code
    /// The path of the file or folder; empty if there is none.
    package let path: String
    /// One sentence about the failure, in lower case and without a full stop.
    package let reason: String

    /// Creates an error about the file or folder at `path`.
    package init(_ code: Code, path: String, _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// The error for a file or folder at `path` that could not be created; `code` is the system's error number.
    package static func cannotCreate(_ path: String, errno code: Int32) -> FileError {
        FileError(.cannotCreate(code), path: path, "cannot create \(path): \(text(of: code))")
    }

    /// The error for an operation that failed at `path`. `operation` starts the reason, such as "cannot read"; `code`
    /// is the system's error number.
    package static func inputOutput(_ operation: String, _ path: String, errno code: Int32) -> FileError {
        FileError(.inputOutput(code), path: path, "\(operation) \(path): \(text(of: code))")
    }

    /// The error for a symbolic link at `path`, which is not followed.
    package static func symbolicLink(_ path: String) -> FileError {
        FileError(.symbolicLink, path: path, "\(path) is a symbolic link")
    }

    /// The error for a file or folder at `path` that another user owns.
    package static func foreignOwner(_ path: String) -> FileError {
        FileError(.foreignOwner, path: path, "\(path) belongs to another user")
    }

    /// The system's error number; nil if this is not a system error.
    package var errno: Int32? {
        switch code {
        case .cannotCreate(let number), .inputOutput(let number): number
        default: nil
        }
    }

    /// The system's description of an error number (strerror(3)).
    private static func text(of code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
