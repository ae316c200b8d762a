internal import Foundation
internal import Glibc
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
    /// - Throws: `CommandFailure`: 74 if the file cannot be read, 10 if it is larger than `limit`.
    package static func read(
        _ path: String, limit: Int, cutsOff: Bool = false
    ) throws(CommandFailure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if path != "-" { close(descriptor) } }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        defer { for index in buffer.indices { buffer[index] = 0 } }
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
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
        let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if path != "-" { close(descriptor) } }
        return try unsafe SecretBytes(capacity: limit + 2) { buffer throws(CommandFailure) in
            var count = 0
            while count < buffer.count {
                let got = unsafe Glibc.read(
                    descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw unreadable(path) }
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

    private static func unreadable(_ path: String) -> CommandFailure {
        unreadable(path, errno)
    }
}
