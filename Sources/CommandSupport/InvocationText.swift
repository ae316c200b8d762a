internal import Glibc

/// The text that a process receives from its caller: arguments, environment variables, and the path of the current
/// folder.
///
/// Swift replaces each byte of it that is not UTF-8 with U+FFFD, and a path with such a replacement leads to another
/// file.
enum InvocationText {
    /// The environment variables that the commands read.
    static let variables = [
        "KEYSHARE_DEVICE", "KEYSHARE_SOCKET", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME", "TMPDIR", "PATH",
        "COLUMNS", "NO_COLOR", "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
    ]

    /// Checks this process's arguments, the environment variables in ``variables``, and the path of the current folder.
    ///
    /// - Throws: `CommandFailure` (64) for the first text that is not UTF-8.
    static func requireUTF8() throws(CommandFailure) {
        // The name of the program, which is the first argument, is only printed.
        for index in (0..<Int(CommandLine.argc)).dropFirst() {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { break }
            if let text = escaped(unsafe bytes(of: argument)) {
                throw CommandFailure(
                    .usage, "the argument \u{201C}\(text)\u{201D} is not UTF-8",
                    hint: "if the argument is a path, rename the file or folder")
            }
        }
        for name in variables {
            guard let value = unsafe getenv(name) else { continue }
            if let text = escaped(unsafe bytes(of: value)) {
                throw CommandFailure(
                    .usage, "the environment variable \(name) is not UTF-8: \u{201C}\(text)\u{201D}",
                    hint: "change or unset the variable")
            }
        }
        // A folder that was deleted has no path.
        guard let folder = unsafe getcwd(nil, 0) else { return }
        defer { unsafe free(folder) }
        if let text = escaped(unsafe bytes(of: folder)) {
            throw CommandFailure(
                .usage, "the path of the current folder is not UTF-8: \u{201C}\(text)\u{201D}",
                hint: "rename the folder, or run the command in another folder")
        }
    }

    private static func bytes(of text: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }

    /// Returns text for a message, with an escape such as `\xff` for each invalid byte; nil if all bytes are UTF-8.
    static func escaped(_ bytes: [UInt8]) -> String? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var text = ""
        var rest = bytes[...]
        while let byte = rest.first {
            var scalar: String?
            // UTF-8 encodes a scalar in at most four bytes.
            for count in 1...4 where scalar == nil {
                scalar = String(validating: rest.prefix(count), as: UTF8.self)
            }
            text += scalar ?? "\\x" + String(byte, radix: 16)
            rest = rest.dropFirst(scalar?.utf8.count ?? 1)
        }
        return text
    }
}
