internal import Glibc
internal import PrivateFiles

extension InputFile {
    /// Opens a file that the user named. The file may be larger than memory. A pipe, a device and standard input (`-`)
    /// are first copied to an unnamed file, because they can be read only once.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or `-`.
    ///   - scratch: A folder for unnamed files.
    ///   - body: A function that receives the open file, which is closed after the call.
    /// - Throws: `CommandFailure` 74 if the file cannot be read or is a folder; `FileError` for the copy; the errors of
    ///   `body`.
    package static func withFile<Result>(
        _ path: String, scratch: String, _ body: (CInt) throws -> Result
    ) throws -> Result {
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
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
