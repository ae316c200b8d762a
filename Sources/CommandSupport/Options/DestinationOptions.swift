package import ArgumentParser
internal import PrivateFiles
internal import Foundation
internal import Glibc

/// Where a command writes the bytes it was asked for.
package struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to a file (default: - for standard output).", valueName: "file"))
    package var output: String?

    package init() {}

    /// Writes to the file whole or not at all, mode 0600; to what is there and no regular file, such as a pipe,
    /// as it is; or to standard output, though not binary data to a terminal.
    ///
    /// - Throws: `CommandFailure`: 64 for binary data on a terminal, 73 where no file can be made, 74 where the
    ///   bytes are not taken.
    package func write(_ bytes: [UInt8], _ console: Console, isBinary: Bool = false) throws {
        if let output, output != "-" {
            try Self.write(bytes, to: output)
            console.note("wrote \(bytes.count) bytes to \(output)")
            return
        }
        if isBinary, output == nil, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure(
                .usage, "refusing to write binary data to a terminal",
                hint: "name a file with -o, or -o - to insist")
        }
        try console.write(Data(bytes))
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        // What a link leads to is meant, not the link.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let type = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
        if let type, type != .typeRegular, type != .typeDirectory {
            do {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
                try handle.write(contentsOf: Data(bytes))
                try handle.close()
            } catch {
                throw CommandFailure(.inputOutput, "cannot write to \(path): \(error.localizedDescription)")
            }
            return
        }
        do throws(FileError) {
            try AtomicFile.write(bytes, to: target)
        } catch {
            let failure = error.commandFailure
            throw CommandFailure(
                failure.status, code: failure.code, failure.message, hint: "name another file with -o")
        }
    }

    /// Insists on a file, for commands whose standard output is taken by a JSON document.
    ///
    /// - Throws: `CommandFailure` 64 where none is named.
    package func requireFile() throws(CommandFailure) {
        guard let output, output != "-" else {
            throw CommandFailure(
                .usage, "--json needs standard output for itself", hint: "name a file with -o")
        }
    }
}
