package import Diagnostics
private import Glibc

/// Why a file or folder of ours could not be made, read, written or locked, or was refused because other users
/// could get at it.
package struct FileError: Failure {
    package static let domain = FailureDomain.file

    /// The kinds of trouble with a file or folder.
    package enum Code: Hashable, Sendable {
        /// A symbolic link stands where a folder or file of ours belongs.
        case symbolicLink
        /// Something other than a folder stands where a folder belongs.
        case notAFolder
        /// The folder or file belongs to another user.
        case foreignOwner
        /// Other users may read or write a file that holds secrets.
        case exposedFile
        /// Other users may enter a folder, and it may not be closed to them.
        case exposedFolder
        /// A file does not hold what it should, or is not a regular file.
        case damagedFile
        /// The name is taken, and what has it was not to be replaced.
        case alreadyThere
        /// A link, a pipe or a file that another user made has the name, in a folder that others may write to.
        case strangersEntry
        /// A file must not be written to this path.
        case unsuitablePath
        /// A file or folder could not be made; `errno` as the system gave it.
        case cannotCreate(Int32)
        /// Reading, writing, locking, or bringing to disk failed; `errno` as the system gave it.
        case inputOutput(Int32)
    }

    /// The kind of trouble.
    package let code: Code
    /// The path of the file or folder; empty where there is none.
    package let path: String
    /// One sentence about what happened, in lower case and without a full stop.
    package let reason: String

    /// Makes an error about the file or folder at `path`.
    package init(_ code: Code, path: String, _ reason: String) {
        self.code = code
        self.path = path
        self.reason = reason
    }

    /// A file or folder at `path` that could not be made, because of the system's error `code`.
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

    /// The system's error number; nil where this is no error of the system.
    package var errno: Int32? {
        switch code {
        case .cannotCreate(let number), .inputOutput(let number): number
        default: nil
        }
    }

    /// The system's words for an error number (strerror(3)).
    private static func text(of code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
