package import SecretMemory
private import Glibc
internal import OpenSSL

/// When a file was changed last, to the nanosecond, since 1970.
package typealias FileTime = (seconds: Int, nanoseconds: Int)

/// Files that are there whole or not at all, whatever happens while they are written.
package enum AtomicFile {
    /// Writes `bytes` to `path`, in place of what is there unless that is to stay; on failure it stays as it was.
    ///
    /// The bytes go to a new file in the same folder, to disk, and only then under the name. A symbolic link
    /// at `path` is replaced, not followed.
    ///
    /// - Throws: `DeviceError`: `.cannotCreate` when the folder takes no new file, `.inputOutput` when the
    ///   bytes do not reach the disk. After a failed `fsync` nothing is tried again: the kernel may have
    ///   dropped the bytes and would report success. `.alreadyThere` for what must not be replaced.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32 = 0o600, replacing: Bool = true
    ) throws(DeviceError) {
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(DeviceError) in
            try unsafe write(UnsafeRawBufferPointer(buffer), to: path, mode: mode, replacing: replacing)
        }
    }

    /// The same for bytes that come from another file, as whose last change theirs counts.
    package static func write(
        _ bytes: [UInt8], to path: String, changed: FileTime
    ) throws(DeviceError) {
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(DeviceError) in
            try unsafe write(
                UnsafeRawBufferPointer(buffer), to: path, mode: 0o600, replacing: true, changed: changed)
        }
    }

    /// The same for bytes that are secret.
    package static func write(
        _ secret: SecretBytes, to path: String, mode: UInt32 = 0o600, replacing: Bool = true
    ) throws(DeviceError) {
        try unsafe secret.withUnsafeBytes { buffer throws(DeviceError) in
            try unsafe write(buffer, to: path, mode: mode, replacing: replacing)
        }
    }

    /// The same for a file that `fill` makes: it gets the path of one that is empty, mode 0600, in the same folder.
    ///
    /// - Throws: what `fill` throws, and as above.
    package static func write(
        to path: String, replacing: Bool, fill: (String) throws -> Void
    ) throws {
        let (descriptor, temporary) = try makeTemporary(for: path)
        defer { close(descriptor) }
        do {
            try fill(temporary)
            guard fsync(descriptor) == 0 else {
                throw DeviceError.inputOutput("cannot bring to disk", path, errno: errno)
            }
            try publish(temporary, as: path, replacing: replacing)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try Folder.synchronize(Folder.parent(of: path))
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to path: String, mode: UInt32, replacing: Bool,
        changed: FileTime? = nil
    ) throws(DeviceError) {
        let (descriptor, temporary) = try makeTemporary(for: path)
        do throws(DeviceError) {
            try unsafe fill(descriptor, with: bytes, mode: mode, changed: changed, path: path)
            try publish(temporary, as: path, replacing: replacing)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try Folder.synchronize(Folder.parent(of: path))
    }

    /// Removes the file at `path`, and brings that to disk; silent when there is none.
    ///
    /// - Throws: `DeviceError`.
    package static func remove(_ path: String) throws(DeviceError) {
        guard unsafe unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw .inputOutput("cannot remove", path, errno: errno)
        }
        try Folder.synchronize(Folder.parent(of: path))
    }

    /// Whether a file of this name is one that was to be given another when it is whole.
    package static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(".tmp") && UInt64(name.dropFirst().dropLast(4)) != nil
    }

    private static func makeTemporary(
        for path: String
    ) throws(DeviceError) -> (descriptor: CInt, path: String) {
        let temporary = "\(Folder.parent(of: path))/.\(UInt64.random(in: .min ... .max)).tmp"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path, errno: errno) }
        return (descriptor, temporary)
    }

    private static func publish(
        _ temporary: String, as path: String, replacing: Bool
    ) throws(DeviceError) {
        if replacing {
            guard unsafe rename(temporary, path) == 0 else {
                throw .inputOutput("cannot replace", path, errno: errno)
            }
            return
        }
        // A second name is refused where the first is taken, which no rename can be told to do.
        guard unsafe link(temporary, path) == 0 else {
            throw errno == EEXIST
                ? DeviceError(.alreadyThere, path: path, "\(path) is there already")
                : .cannotCreate(path, errno: errno)
        }
        unsafe unlink(temporary)
    }

    private static func fill(
        _ descriptor: CInt, with bytes: UnsafeRawBufferPointer, mode: UInt32, changed: FileTime?,
        path: String
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
        if let changed {
            let time = timespec(tv_sec: changed.seconds, tv_nsec: changed.nanoseconds)
            guard unsafe futimens(descriptor, [time, time]) == 0 else {
                throw .inputOutput("cannot date", path, errno: errno)
            }
        }
        guard fsync(descriptor) == 0 else { throw .inputOutput("cannot bring to disk", path, errno: errno) }
        isClosed = true
        guard close(descriptor) == 0 else { throw .inputOutput("cannot close", path, errno: errno) }
    }
}
