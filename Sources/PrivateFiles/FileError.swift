package import Diagnostics
private import Glibc

/// The reason why a private file or folder could not be created, read, written or locked, or was rejected because other
/// users could access it.
package struct FileError: Failure {
    package static let domain = FailureDomain.file

    /// The kinds of failure.
    package enum Code: Hashable, Sendable {
        /// A symbolic link has the name of a private folder or file.
        case symbolicLink
        /// The path of a folder names something else.
        case notAFolder
        /// The folder or file belongs to another user.
        case foreignOwner
        /// Other users may read or write a file that holds secrets.
        case exposedFile
        /// Other users may enter a folder, and its permissions must not be changed.
        case exposedFolder
        /// A file has invalid contents, or is not a regular file.
        case damagedFile
        /// The name is in use, and must not be replaced.
        case alreadyThere
        /// The name belongs to a link, a pipe or a file of another user, in a folder that others may write
        /// to.
        case strangersEntry
        /// A file must not be written to this path.
        case unsuitablePath
        /// A file or folder could not be created; the `errno` of the system call.
        case cannotCreate(Int32)
        /// Reading, writing, locking or synchronizing failed; the `errno` of the system call.
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

    /// A file or folder at `path` that could not be created, because of the system's error `code`.
    package static func cannotCreate(_ path: String, errno code: Int32) -> FileError {
        FileError(.cannotCreate(code), path: path, "cannot create \(path): \(text(of: code))")
    }

    /// An `operation`, such as "cannot read", that failed at `path` because of the system's error `code`.
    package static func inputOutput(_ operation: String, _ path: String, errno code: Int32) -> FileError {
        FileError(.inputOutput(code), path: path, "\(operation) \(path): \(text(of: code))")
    }

    /// A symbolic link at `path`, which is not followed.
    package static func symbolicLink(_ path: String) -> FileError {
        FileError(.symbolicLink, path: path, "\(path) is a symbolic link")
    }

    /// A file or folder at `path` that another user owns.
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
