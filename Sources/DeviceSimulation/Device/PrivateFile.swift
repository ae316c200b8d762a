package import SecretMemory
private import Glibc
internal import OpenSSL

/// An open file of the device: no link, this user's, closed to others.
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

    /// Opens the file at `path`; nil when there is none.
    ///
    /// - Parameter isWritable: whether it is to be wiped.
    /// - Throws: `DeviceError` when it is a link or no file, another user's, open to others, or cannot be opened.
    package static func open(_ path: String, isWritable: Bool = false) throws(DeviceError) -> PrivateFile? {
        // Not to wait for whoever writes to a pipe of that name.
        let flags = (isWritable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
            default: throw .inputOutput("cannot open", path, errno: errno)
            }
        }
        let file = PrivateFile(descriptor: descriptor, path: path)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DeviceError(.damagedFile, path: path, "\(path) is no regular file")
        }
        guard status.st_uid == geteuid() else {
            throw DeviceError(.foreignOwner, path: path, "\(path) belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw DeviceError(.exposedFile, path: path, "\(path) is open to other users")
        }
        return file
    }

    /// The file's first bytes, `limit` at most.
    ///
    /// - Throws: `DeviceError` when they cannot be read.
    package func readSecret(atMost limit: Int) throws(DeviceError) -> SecretBytes {
        unsafe try SecretBytes(capacity: limit) { buffer throws(DeviceError) in try unsafe fill(buffer) }
    }

    /// The same of a file that holds no secret, or a sealed one.
    ///
    /// - Throws: `DeviceError` when they cannot be read.
    package func read(atMost limit: Int) throws(DeviceError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(min(Int(try status().st_size), limit), 0))
        // By a result: the standard library's closure passes any error on as an untyped one.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(DeviceError) in unsafe try fill(buffer) }
        }
        return Array(bytes.prefix(try count.get()))
    }

    /// Writes zeroes over everything the file holds, and brings them to disk.
    ///
    /// For a file that goes: what is on the disk's free blocks afterwards is not what was in it, as far as a
    /// program can tell a disk where to write.
    ///
    /// - Throws: `DeviceError` when they do not reach the disk.
    package func wipe() throws(DeviceError) {
        let zeroes = [UInt8](repeating: 0, count: 1 << 16)
        var rest = Int(try status().st_size)
        var offset = 0
        while rest > 0 {
            let count = unsafe pwrite(descriptor, zeroes, min(rest, zeroes.count), offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .inputOutput("cannot wipe", path, errno: count == 0 ? EIO : errno) }
            rest -= count
            offset += count
        }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot bring to disk", path, errno: errno) }
    }

    /// When the file was changed last.
    ///
    /// - Throws: `DeviceError` when that cannot be told.
    package func changed() throws(DeviceError) -> FileTime {
        let time = try status().st_mtim
        return (time.tv_sec, time.tv_nsec)
    }

    private func status() throws(DeviceError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw .inputOutput("cannot look at", path, errno: errno)
        }
        return status
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(DeviceError) -> Int {
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
