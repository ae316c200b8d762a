internal import Foundation
internal import Glibc

/// A simulation of read-only folders, for tests that have their own process.
package enum ReadOnly {
    /// Runs `body` while this process cannot write, create or remove anything in or below `folder`.
    ///
    /// Permissions do not stop root. If the process runs as root, it therefore gives all files to another user and
    /// continues as that user until `body` returns. It must do nothing else in the meantime.
    ///
    /// - Throws: The error of `body`, and errors of the file system.
    package static func whileNothingMayBeWritten(
        in folder: String, _ body: () async throws -> Void
    ) async throws {
        let user = geteuid()
        let other: uid_t = user == 0 ? 65_534 : user
        let modes = try hand(folder, to: other) { $0 & 0o500 }
        try require(seteuid(other))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        try require(seteuid(user))
        _ = try hand(folder, to: user) { _ in 0 }
        for (path, mode) in modes { try require(unsafe chmod(path, mode)) }
        try result.get()
    }

    /// Gives all files in a folder to `owner`, and replaces their permissions with `change(old)`.
    ///
    /// - Returns: The old permissions, with folders before their contents.
    private static func hand(
        _ folder: String, to owner: uid_t, _ change: (mode_t) -> mode_t
    ) throws -> [(String, mode_t)] {
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return try ([folder] + names.map { folder + "/" + $0 }).map { path in
            var status = stat()
            try require(unsafe lstat(path, &status))
            try require(unsafe chown(path, owner, gid_t.max))
            let mode = change(status.st_mode & 0o777)
            if mode != 0 { try require(unsafe chmod(path, mode)) }
            return (path, status.st_mode & 0o777)
        }
    }

    private static func require(_ result: CInt) throws {
        guard result == 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
    }
}
