package import SecretMemory
private import Glibc

/// An open private file: a regular file, not reached through a symbolic link in its last component, owned by
/// this process's effective user, and inaccessible to all others.
package struct PrivateFile: ~Copyable {
    private let descriptor: CInt
    private let path: String

    private init(descriptor: CInt, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens the file at `path`; nil if it does not exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - isWritable: Whether the file is also opened for writing, as `wipe()` requires.
    /// - Throws: `FileError`: `.symbolicLink`; `.damagedFile` if it is not a regular file; `.foreignOwner`;
    ///   `.exposedFile` if other users may read or write it; `.inputOutput`.
    package static func open(_ path: String, isWritable: Bool = false) throws(FileError) -> PrivateFile? {
        // Without O_NONBLOCK, opening a FIFO of that name would wait for a writer.
        let flags = (isWritable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw .symbolicLink(path)
            default: throw .inputOutput("cannot open", path, errno: errno)
            }
        }
        let file = PrivateFile(descriptor: descriptor, path: path)
        guard let identity = FileIdentity(descriptor: descriptor) else {
            throw .inputOutput("cannot examine", path, errno: errno)
        }
        try requireOwnAndClosed(identity, path)
        return file
    }

    /// Returns the size in bytes of the file at `path` without opening the file; nil if it does not exist.
    ///
    /// Use it for a file on which a library in this process holds POSIX record locks. Closing any descriptor of such a
    /// file releases all of the process's locks on the file (fcntl(2)).
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.damagedFile` if it is not a regular file, `.foreignOwner`,
    ///   `.exposedFile`, or `.inputOutput`.
    package static func sizeWithoutOpening(_ path: String) throws(FileError) -> Int? {
        guard let identity = FileIdentity(path: path) else {
            guard errno == ENOENT else { throw .inputOutput("cannot examine", path, errno: errno) }
            return nil
        }
        guard identity.type != S_IFLNK else { throw .symbolicLink(path) }
        try requireOwnAndClosed(identity, path)
        return identity.size
    }

    private static func requireOwnAndClosed(_ file: FileIdentity, _ path: String) throws(FileError) {
        guard file.type == S_IFREG else {
            throw FileError(.damagedFile, path: path, "\(path) is not a regular file")
        }
        guard file.isOwn else { throw .foreignOwner(path) }
        guard !file.isExposed else {
            throw FileError(.exposedFile, path: path, "other users have access to \(path)")
        }
    }

    /// Reads the file's first bytes, `limit` at most, into memory that is wiped after use.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package func readSecret(atMost limit: Int) throws(FileError) -> SecretBytes {
        unsafe try SecretBytes(capacity: limit) { buffer throws(FileError) in try unsafe fill(buffer) }
    }

    /// Reads the file's first bytes, `limit` at most. The memory is not wiped, so use it only for files without
    /// plain-text secrets.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package func read(atMost limit: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(min(Int(try status().st_size), limit), 0))
        // This uses a Result, because withUnsafeMutableBytes rethrows errors untyped.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(FileError) in unsafe try fill(buffer) }
        }
        return Array(bytes.prefix(try count.get()))
    }

    /// Overwrites the whole file with zeroes, and synchronizes it to disk (fsync(2)).
    ///
    /// Call it before removing a file, so that the contents do not remain in free blocks. A copy-on-write file system,
    /// or a disk that remaps blocks, may still keep the old contents.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package func wipe() throws(FileError) {
        let zeroes = [UInt8](repeating: 0, count: 1 << 16)
        var rest = Int(try status().st_size)
        var offset = 0
        while rest > 0 {
            let count = unsafe pwrite(descriptor, zeroes, min(rest, zeroes.count), offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .inputOutput("cannot overwrite", path, errno: count == 0 ? EIO : errno)
            }
            rest -= count
            offset += count
        }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot sync to disk", path, errno: errno) }
    }

    /// Overwrites the file with `bytes` of the same length, and synchronizes it to disk (fsync(2)). Needs no free disk
    /// space. Use it only for files of at most one sector: in a larger file, a power cut can leave a mixture of old and
    /// new bytes.
    ///
    /// - Parameters:
    ///   - bytes: The new contents, with the length of the file.
    ///   - synchronizing: Whether the call waits until the disk has stored them.
    /// - Throws: `FileError.Code.inputOutput`.
    /// - Returns: False, with the file unchanged, if `bytes` does not have the file's length.
    package func overwrite(_ bytes: [UInt8], synchronizing: Bool = true) throws(FileError) -> Bool {
        guard try status().st_size == bytes.count else { return false }
        var count = 0
        repeat {
            count = unsafe pwrite(descriptor, bytes, bytes.count, 0)
        } while count < 0 && errno == EINTR
        guard count == bytes.count else {
            throw .inputOutput("cannot write", path, errno: count < 0 ? errno : EIO)
        }
        guard !synchronizing || fsync(descriptor) == 0 else {
            throw .inputOutput("cannot sync to disk", path, errno: errno)
        }
        return true
    }

    /// Returns the time at which the file's contents were last modified.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
    package func changed() throws(FileError) -> FileTime {
        let time = try status().st_mtim
        return (time.tv_sec, time.tv_nsec)
    }

    private func status() throws(FileError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw .inputOutput("cannot examine", path, errno: errno)
        }
        return status
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = unsafe pread(descriptor, rest.baseAddress, rest.count, filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .inputOutput("cannot read", path, errno: errno) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}
