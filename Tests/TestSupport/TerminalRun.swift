internal import Dispatch
internal import Foundation
internal import Glibc

/// The result of a shell script whose output went to a terminal.
package struct TerminalRun: Sendable {
    /// The exit code of the script.
    package let status: Int32
    /// The final lines on the terminal, without colours. Status lines that were overwritten are not included.
    package let lines: [String]

    /// The error if no pseudo-terminal can be created.
    package struct NoTerminal: Error {}

    /// Runs a script with bash. Its standard output and standard error are a pseudo-terminal (pty(7)) of the
    /// given width, its standard input is empty, and the built commands are in its PATH.
    ///
    /// - Parameters:
    ///   - script: The script for bash.
    ///   - columns: The width of the terminal.
    ///   - folder: The working directory, which is also the home directory.
    ///   - environment: Variables in addition to PATH and HOME.
    /// - Throws: `NoTerminal`; an error if bash cannot be started.
    package static func run(
        _ script: String, columns: UInt16, in folder: String, environment: [String: String] = [:]
    ) async throws -> TerminalRun {
        // ioctl_tty(2): Swift's Glibc module has neither posix_openpt(3) nor the names of these requests.
        let (setLock, number): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        let master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var lock: CInt = 0
        var index: CInt = 0
        guard master >= 0, unsafe ioctl(master, setLock, &lock) == 0,
            unsafe ioctl(master, number, &index) == 0
        else { throw NoTerminal() }
        let slave = unsafe open("/dev/pts/\(index)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard slave >= 0, unsafe ioctl(slave, UInt(TIOCSWINSZ), &size) == 0 else { throw NoTerminal() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let path = "\(BuiltCommand.folder.path):/usr/bin:/bin"
        process.environment = ["PATH": path, "HOME": folder].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let output = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        process.standardOutput = output
        process.standardError = output
        let end = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.continuation.finish() }
        try process.run()
        try output.close()
        let bytes = await read(master)
        for await _ in end.stream {}
        try process.endIfCancelled()
        return TerminalRun(
            status: process.terminationStatus, lines: Self.lines(of: String(decoding: bytes, as: UTF8.self)))
    }

    /// Reads all output until no process has the terminal open.
    private static func read(_ master: CInt) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = unsafe Glibc.read(master, &buffer, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    // Linux returns EIO after the last descriptor of the other side is closed.
                    guard count > 0 else { break }
                    bytes += buffer[..<count]
                }
                close(master)
                continuation.resume(returning: bytes)
            }
        }
    }

    private static func lines(of text: String) -> [String] {
        // Split by scalars, because a carriage return and a line feed form one grapheme cluster, which would hide both.
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let whole = String(String.UnicodeScalarView(line)).replacingOccurrences(
                of: "\r\u{1B}[K", with: "\u{0}")
            let last =
                whole.split(separator: "\u{0}", omittingEmptySubsequences: false).last.map(String.init) ?? ""
            return last.replacingOccurrences(of: "\r", with: "").replacingOccurrences(
                of: "\u{1B}\\[[0-9;]*[A-Za-z]", with: "", options: .regularExpression)
        }
    }
}
