package import ArgumentParser
internal import PrivateFiles
internal import Foundation
internal import Glibc

/// The place to which a command writes the bytes of a file.
package struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to a file (default: - for standard output).", valueName: "file"))
    package var output: String?

    package init() {}

    /// Writes to the file, whole or not at all, with mode 0600; into a pipe or device that has the name of the file;
    /// or to standard output, but no binary data to a terminal.
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
        // The target of a symbolic link is replaced, and not the link.
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

    /// Requires a file, for commands that write a JSON document to standard output.
    ///
    /// - Throws: `CommandFailure` 64 where no file is named.
    package func requireFile() throws(CommandFailure) {
        guard let output, output != "-" else {
            throw CommandFailure(
                .usage, "--json needs standard output for itself", hint: "name a file with -o")
        }
    }
}
