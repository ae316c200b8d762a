private import Glibc
package import OpenSSL

/// Files that are there whole or not at all, whatever happens while they are written.
package enum AtomicFile {
    /// Writes `bytes` to `path`, in place of what is there; on failure that stays as it was.
    ///
    /// The bytes go to a new file in the same folder, to disk, and only then under the name. A symbolic link
    /// at `path` is replaced, not followed.
    ///
    /// - Throws: `DeviceError`: `.cannotCreate` when the folder takes no new file, `.inputOutput` when the
    ///   bytes do not reach the disk. After a failed `fsync` nothing is tried again: the kernel may have
    ///   dropped the bytes and would report success.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600
    ) throws(DeviceError) {
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(DeviceError) in
            try unsafe write(UnsafeRawBufferPointer(buffer), to: path, mode: mode)
        }
    }

    /// The same for bytes that are secret.
    package static func write(
        _ secret: SecretBytes, to path: String, mode: UInt32 = 0o600
    ) throws(DeviceError) {
        try unsafe secret.withUnsafeBytes { buffer throws(DeviceError) in
            try unsafe write(buffer, to: path, mode: mode)
        }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to path: String, mode: UInt32
    ) throws(DeviceError) {
        let folder = Folder.parent(of: path)
        let temporary = "\(folder)/.\(UInt64.random(in: .min ... .max)).tmp"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        do throws(DeviceError) {
            try unsafe fill(descriptor, with: bytes, mode: mode, path: path)
            guard unsafe rename(temporary, path) == 0 else {
                throw .inputOutput("cannot replace", path, errno: errno)
            }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try Folder.synchronize(folder)
    }

    private static func fill(
        _ descriptor: CInt, with bytes: UnsafeRawBufferPointer, mode: UInt32, path: String
    ) throws(DeviceError) {
        var isClosed = false
        defer { if !isClosed { close(descriptor) } }
        // Not by `open`, whose mode the process's mask reduces.
        guard fchmod(descriptor, mode) == 0 else { throw .inputOutput("cannot protect", path, errno: errno) }
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .inputOutput("cannot write", path, errno: count == 0 ? EIO : errno) }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot bring to disk", path, errno: errno) }
        isClosed = true
        guard close(descriptor) == 0 else { throw .inputOutput("cannot close", path, errno: errno) }
    }
}
