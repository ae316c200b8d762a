internal import Foundation
internal import Glibc
internal import PrivateFiles
internal import SecretMemory

/// Reads files that the user named on the command line.
package enum InputFile {
    /// Reads a whole file, or standard input for `-`, up to `limit` bytes.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or `-`.
    ///   - limit: The maximum number of bytes.
    ///   - cutsOff: Whether a larger file returns a few bytes more than `limit` instead of an error, for callers that
    ///     check the size themselves.
    ///   - onlyRegular: Whether only a regular file is read, for files that the user did not name. Reading a pipe could
    ///     wait forever.
    /// - Throws: `CommandFailure`: 74 if the file cannot be read, 10 if it is larger than `limit`.
    package static func read(
        _ path: String, limit: Int, cutsOff: Bool = false, onlyRegular: Bool = false
    ) throws(CommandFailure) -> [UInt8] {
        let descriptor = try open(path, onlyRegular: onlyRegular)
        defer { if path != "-" { close(descriptor) } }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        defer { for index in buffer.indices { buffer[index] = 0 } }
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path, errno) }
            if count == 0 { return contents }
            contents += buffer[..<count]
            guard contents.count <= limit else {
                if cutsOff { return contents }
                throw CommandFailure(
                    .tooLarge, "\(path) is larger than the limit of \(limit) bytes")
            }
        }
    }

    /// Returns the bytes of a small file, or of standard input for `-`, without a trailing newline. The bytes are
    /// stored only in memory that is wiped.
    ///
    /// - Throws: `CommandFailure`: 74 if it cannot be read, 10 if it is larger than `limit`.
    static func firstLine(_ path: String, limit: Int) throws(CommandFailure) -> SecretBytes {
        let descriptor = try open(path)
        defer { if path != "-" { close(descriptor) } }
        return try unsafe SecretBytes(capacity: limit + 2) { buffer throws(CommandFailure) in
            var count = 0
            while count < buffer.count {
                let got = unsafe Glibc.read(
                    descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw unreadable(path, errno) }
                if got == 0 { break }
                count += got
            }
            if count > 0, unsafe buffer[count - 1] == UInt8(ascii: "\n") {
                count -= 1
                if count > 0, unsafe buffer[count - 1] == UInt8(ascii: "\r") { count -= 1 }
            }
            guard count <= limit else {
                throw CommandFailure(
                    .tooLarge, "the password in \(path) is longer than \(limit) bytes")
            }
            return count
        }
    }

    /// Opens a file that the user named. The file may be larger than memory. A pipe, a device and standard input (`-`)
    /// are first copied to an unnamed file, because they can be read only once.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or `-`.
    ///   - scratch: A folder for unnamed files.
    ///   - onlyRegular: Whether only a regular file is read, as for `read(_:limit:cutsOff:onlyRegular:)`.
    ///   - body: A function that receives the open file, which is closed after the call.
    /// - Throws: `CommandFailure` 74 if the file cannot be read or is a folder; `FileError` for the copy; the errors of
    ///   `body`.
    package static func withFile<Result>(
        _ path: String, scratch: String, onlyRegular: Bool = false, _ body: (CInt) throws -> Result
    ) throws -> Result {
        let descriptor = try open(path, onlyRegular: onlyRegular)
        defer { if path != "-" { close(descriptor) } }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw unreadable(path, errno) }
        if status.st_mode & S_IFMT == S_IFDIR { throw unreadable(path, EISDIR) }
        if path != "-", status.st_mode & S_IFMT == S_IFREG { return try body(descriptor) }
        let copy = try UnnamedFile(in: scratch)
        while true {
            let bytes: [UInt8]
            do throws(FileError) {
                bytes = try OpenFile.read(descriptor, named: path)
            } catch {
                throw unreadable(path, error.errno ?? EIO)
            }
            if bytes.isEmpty { break }
            try copy.write(bytes)
        }
        return try withExtendedLifetime(copy) { try body(copy.descriptor) }
    }

    /// Opens a file for reading. The caller closes it, unless the path is `-`.
    private static func open(_ path: String, onlyRegular: Bool = false) throws(CommandFailure) -> CInt {
        if path == "-" { return STDIN_FILENO }
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (onlyRegular ? O_NONBLOCK : 0)
        let descriptor = unsafe Glibc.open(path, flags)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        if onlyRegular, FileIdentity(descriptor: descriptor)?.type != S_IFREG {
            close(descriptor)
            throw CommandFailure(.unreadable, "cannot read \(path): not a regular file")
        }
        return descriptor
    }

    /// The failure to read a file, with a hint about its cause.
    ///
    /// - Parameter code: The error number.
    static func unreadable(_ path: String, _ code: Int32) -> CommandFailure {
        let hint: String? =
            switch code {
            case ENOENT, ENOTDIR: "check the path"
            case EACCES, EPERM: "check the permissions of the file and of its folders"
            case EISDIR: "name a file, not a folder"
            default: nil
            }
        return CommandFailure(
            .unreadable, "cannot read \(path): \(unsafe String(cString: strerror(code)))", hint: hint)
    }
}
