private import Glibc

/// A temporary file without a name, for data that is too large for memory. The kernel removes the file when this object
/// is released or the process ends, even by a crash.
///
/// The file is created with a random name and mode 0600, and the name is removed immediately afterwards. From then on,
/// no other process can open the file by name.
package final class UnnamedFile: Sendable {
    /// The open file, for reading and writing; it is closed with this object.
    package let descriptor: CInt

    /// Creates an empty file.
    ///
    /// - Parameter folder: The folder whose file system stores the data.
    /// - Throws: `FileError`: `.cannotCreate`.
    package init(in folder: String) throws(FileError) {
        let name = "\(folder)/.\(UInt64.random(in: .min ... .max)).tmp"
        descriptor = unsafe open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(folder + "/", errno: errno) }
        unsafe unlink(name)
    }

    /// Creates a file that a library writes by its path, such as a database, and opens it for reading.
    ///
    /// - Parameters:
    ///   - folder: The folder whose file system stores the data.
    ///   - fill: Receives a path in a new private folder, where no file exists, and creates a file there. The folder is
    ///     removed afterwards.
    /// - Throws: The error of `fill`; `FileError`: `.cannotCreate` or `.inputOutput`.
    package init(in folder: String, fill: (String) throws -> Void) throws {
        let scratch = "\(folder)/.\(UInt64.random(in: .min ... .max)).tmp"
        try PrivateFolder.make(scratch)
        defer { try? PrivateFolder.removeAll(scratch) }
        let name = scratch + "/file"
        try fill(name)
        descriptor = unsafe open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError.inputOutput("cannot open", name, errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Writes bytes at the current position, where the last read or write ended.
    ///
    /// - Throws: `FileError`: `.inputOutput`, for example if the disk is full.
    package func write(_ bytes: some Sequence<UInt8>) throws(FileError) {
        try OpenFile.write(bytes, to: descriptor, named: "a temporary file")
    }

    /// Moves the current position to the first byte.
    ///
    /// - Throws: `FileError`: `.inputOutput`.
    package func rewind() throws(FileError) {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw .inputOutput("cannot read", "a temporary file", errno: errno)
        }
    }
}

/// Reads and writes open files.
package enum OpenFile {
    /// The maximum number of bytes that ``read(_:named:)`` returns.
    package static let chunk = 65_536

    /// Returns the next bytes, at most ``chunk``; empty at the end of the file.
    ///
    /// - Parameters:
    ///   - descriptor: The open file.
    ///   - name: The file's name in the error.
    /// - Throws: `FileError`: `.inputOutput`.
    package static func read(_ descriptor: CInt, named name: String) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
            while true {
                let got = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = .inputOutput("cannot read", name, errno: errno) }
                count = max(got, 0)
                return
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all of the bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to write.
    ///   - descriptor: The open file.
    ///   - name: The file's name in the error.
    /// - Throws: `FileError`: `.inputOutput`.
    package static func write(
        _ bytes: some Sequence<UInt8>, to descriptor: CInt, named name: String
    ) throws(FileError) {
        let done: Result<Void, FileError>? = bytes.withContiguousStorageIfAvailable { buffer in
            Result { () throws(FileError) in
                try unsafe write(UnsafeRawBufferPointer(buffer), to: descriptor, named: name)
            }
        }
        guard let done else { return try write(Array(bytes), to: descriptor, named: name) }
        try done.get()
    }

    /// Writes all of the bytes, without copying them.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to write.
    ///   - descriptor: The open file.
    ///   - name: The file's name in the error.
    /// - Throws: `FileError`: `.inputOutput`.
    package static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, named name: String
    ) throws(FileError) {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw .inputOutput("cannot write", name, errno: count == 0 ? EIO : errno)
            }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Copies the contents of `source`, from its first byte, to the current position of `target`.
    ///
    /// - Parameters:
    ///   - source: An open file that can be read from the start.
    ///   - target: The open destination.
    ///   - name: The target's name in the error.
    /// - Returns: The number of copied bytes.
    /// - Throws: `FileError`: `.inputOutput`.
    @discardableResult
    package static func copy(
        _ source: CInt, to target: CInt, named name: String
    ) throws(FileError) -> Int {
        guard lseek(source, 0, SEEK_SET) == 0 else {
            throw .inputOutput("cannot read", "a temporary file", errno: errno)
        }
        var total = 0
        while true {
            let bytes = try read(source, named: "a temporary file")
            guard !bytes.isEmpty else { return total }
            try write(bytes, to: target, named: name)
            total += bytes.count
        }
    }
}
