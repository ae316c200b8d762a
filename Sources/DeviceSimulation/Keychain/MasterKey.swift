private import Glibc
internal import OpenSSL

/// The file whose 32 bytes seal every record of the key chain.
///
/// It stands outside the database, so that a copy of the database alone opens nothing.
enum MasterKey {
    /// A new key from the system's random source.
    static func random() -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(capacity: SealingKey.byteCount) { buffer in
            for index in buffer.indices {
                unsafe buffer[index] = generator.next()
            }
            return buffer.count
        }
    }

    /// The key in the file at `path`; nil when there is no file.
    ///
    /// - Throws: `DeviceError` when the file is a link, another user's, open to others, or unreadable.
    static func read(_ path: String) throws(DeviceError) -> SecretBytes? {
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw DeviceError(.symbolicLink, path: path, "\(path) is a symbolic link")
            default: throw .inputOutput("cannot open", path, errno: errno)
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw .inputOutput("cannot look at", path, errno: errno)
        }
        guard status.st_uid == geteuid() else {
            throw DeviceError(.foreignOwner, path: path, "\(path) belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw DeviceError(.exposedFile, path: path, "\(path) is open to other users")
        }
        // One byte more than there should be shows a file that is too long.
        return unsafe try SecretBytes(capacity: SealingKey.byteCount + 1) { buffer throws(DeviceError) in
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw .inputOutput("cannot read", path, errno: errno) }
            return count
        }
    }
}
