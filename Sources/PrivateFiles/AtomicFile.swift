package import SecretMemory
private import Glibc

/// The time of a file's last change since 1970 UTC (`st_mtim`, inode(7)).
package typealias FileTime = (seconds: Int, nanoseconds: Int)

/// Writes files atomically: a reader, even after a crash, finds either the complete old file or the complete
/// new one.
package enum AtomicFile {
    /// Writes `bytes` to the file at `path`. If this throws, the earlier file is unchanged.
    ///
    /// The bytes are written to a temporary file in the same folder. That file is synchronized to disk (fsync(2)) and
    /// then renamed to `path` (rename(2)). A symbolic link at `path` is replaced and not followed.
    ///
    /// - Parameters:
    ///   - bytes: The new contents of the file.
    ///   - path: The name of the file.
    ///   - mode: The new file's permissions, regardless of the process's umask.
    ///   - replacing: Whether an earlier file of that name is replaced.
    /// - Throws: `FileError`: `.cannotCreate` if no file can be created in the folder; `.inputOutput` if the
    ///   bytes do not reach the disk; `.alreadyThere` if the name is in use and `replacing` is false. A
    ///   failed fsync is not repeated: the kernel may have dropped the bytes, and would report success.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600, replacing: Bool = true
    ) throws(FileError) {
        try write(to: path, mode: mode, replacing: replacing) { descriptor throws(FileError) in
            try OpenFile.write(bytes, to: descriptor, named: path)
        }
    }

    /// Writes `bytes` to the file at `path`, mode 0600, and sets the file's modification time to `changed`.
    ///
    /// Use it to move a file to another folder: the newer of two copies can then still be identified.
    ///
    /// - Throws: `FileError`: `.cannotCreate` or `.inputOutput`; the earlier file is unchanged.
    package static func write(
        _ bytes: [UInt8], to path: String, changed: FileTime
    ) throws(FileError) {
        try write(to: path, changed: changed) { descriptor throws(FileError) in
            try OpenFile.write(bytes, to: descriptor, named: path)
        }
    }

    /// Writes the bytes of `secret` to the file at `path`, without copying them to memory that is not wiped.
    ///
    /// - Parameters:
    ///   - secret: The new contents of the file.
    ///   - path: The name of the file.
    ///   - mode: The new file's permissions, regardless of the process's umask.
    ///   - replacing: Whether an earlier file of that name is replaced.
    /// - Throws: `FileError`: `.cannotCreate`, `.inputOutput`, or `.alreadyThere` if the name is in use and
    ///   `replacing` is false.
    package static func write(
        _ secret: SecretBytes, to path: String, mode: UInt32 = 0o600, replacing: Bool = true
    ) throws(FileError) {
        try write(to: path, mode: mode, replacing: replacing) { descriptor throws(FileError) in
            try unsafe secret.withUnsafeBytes { buffer throws(FileError) in
                try unsafe OpenFile.write(buffer, to: descriptor, named: path)
            }
        }
    }

    /// Calls `fill` to write a new file, and then renames that file to `path`.
    ///
    /// In a folder that other users can write to, another user can replace the temporary file. The file is therefore
    /// written only through the descriptor that created it, and a replaced file does not get the name `path`.
    ///
    /// - Parameters:
    ///   - path: The name of the file.
    ///   - mode: The new file's permissions, regardless of the process's umask.
    ///   - replacing: Whether an earlier file of that name is replaced.
    ///   - changed: The file's modification time; nil for the time of the last write.
    ///   - fill: Receives the descriptor of an empty file, which it does not close.
    /// - Throws: The error of `fill`; `FileError`: `.cannotCreate`, `.inputOutput`, `.foreignEntry` if the temporary
    ///   file was replaced, or `.alreadyThere` if the name is in use and `replacing` is false. The earlier file is
    ///   unchanged.
    package static func write(
        to path: String, mode: UInt32 = 0o600, replacing: Bool = true, changed: FileTime? = nil,
        fill: (CInt) throws(FileError) -> Void
    ) throws(FileError) {
        let (descriptor, temporary) = try makeTemporary(for: path)
        defer { close(descriptor) }
        do throws(FileError) {
            // open(2) subtracts the process's umask from the mode; fchmod(2) does not.
            guard fchmod(descriptor, mode) == 0 else {
                throw .inputOutput("cannot set the mode of", path, errno: errno)
            }
            try fill(descriptor)
            if let changed {
                let time = timespec(tv_sec: changed.seconds, tv_nsec: changed.nanoseconds)
                guard unsafe futimens(descriptor, [time, time]) == 0 else {
                    throw .inputOutput("cannot set the modification time of", path, errno: errno)
                }
            }
            guard fsync(descriptor) == 0 else {
                throw .inputOutput("cannot sync to disk", path, errno: errno)
            }
            try requireUnreplaced(temporary, descriptor, for: path)
            try publish(temporary, as: path, replacing: replacing)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try PrivateFolder.synchronize(PrivateFolder.parent(of: path))
    }

    /// Removes the file at `path` and synchronizes the folder to disk. Does nothing if the file does not exist.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package static func remove(_ path: String) throws(FileError) {
        guard unsafe unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw .inputOutput("cannot remove", path, errno: errno)
        }
        try PrivateFolder.synchronize(PrivateFolder.parent(of: path))
    }

    /// Returns whether `name` has the form of a temporary file of this type: a dot, a number and `.tmp`. No other file
    /// in private folders has such a name.
    package static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(temporarySuffix)
            && UInt64(name.dropFirst().dropLast(temporarySuffix.count)) != nil
    }

    private static let temporarySuffix = ".tmp"

    private static func makeTemporary(
        for path: String
    ) throws(FileError) -> (descriptor: CInt, path: String) {
        let number = UInt64.random(in: .min ... .max)
        let temporary = "\(PrivateFolder.parent(of: path))/.\(number)\(temporarySuffix)"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        return (descriptor, temporary)
    }

    /// Throws if the name `temporary` belongs to a file other than the open one. If the name is missing, publishing
    /// fails.
    private static func requireUnreplaced(
        _ temporary: String, _ descriptor: CInt, for path: String
    ) throws(FileError) {
        guard let named = FileIdentity(path: temporary) else { return }
        guard FileIdentity(descriptor: descriptor)?.isSameFile(as: named) == true else {
            throw FileError(
                .foreignEntry, path: path,
                "another user replaced the temporary file \(temporary) before it was renamed to \(path)")
        }
    }

    private static func publish(
        _ temporary: String, as path: String, replacing: Bool
    ) throws(FileError) {
        if replacing {
            guard unsafe rename(temporary, path) == 0 else {
                throw .inputOutput("cannot replace", path, errno: errno)
            }
            return
        }
        // link(2) fails if the name is in use; rename(2) would replace the file.
        guard unsafe link(temporary, path) == 0 else {
            throw errno == EEXIST
                ? FileError(.alreadyThere, path: path, "\(path) already exists")
                : .cannotCreate(path, errno: errno)
        }
        unsafe unlink(temporary)
    }
}
