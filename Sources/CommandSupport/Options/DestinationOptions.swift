package import ArgumentParser
internal import Diagnostics
package import PrivateFiles
internal import Foundation
internal import Glibc

/// The file or folder to which a command writes.
package struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to a file (default: - for standard output).", valueName: "file"),
        completion: .file())
    package var output: String?

    @Flag(help: "Replace an existing file or folder.")
    package var force = false

    package init() {}

    package func validate() throws {
        guard !force || output != nil else { throw ValidationError("--force requires -o") }
    }

    /// Checks that the file may be written. Called before the contents of the file are created.
    ///
    /// - Throws: `CommandFailure` 10 if the file exists and may not be replaced.
    package func requireFree() throws(CommandFailure) {
        guard let output, output != "-", !force,
            let type = try? FileManager.default.attributesOfItem(
                atPath: Self.target(of: output))[.type] as? FileAttributeType, type == .typeRegular
        else { return }
        throw Self.taken(output)
    }

    private static func taken(_ path: String) -> CommandFailure {
        CommandFailure(FileError(.alreadyThere, path: path, "\(path) already exists"))
            .advising("--force replaces it")
    }

    /// Returns the file that a path refers to: the target of a symbolic link.
    private static func target(of path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// Writes to the file, completely or not at all, with mode 0600. If the path names a pipe or a device, writes to it
    /// directly. Without `-o`, writes to standard output, but never writes binary data to a terminal.
    ///
    /// - Throws: `CommandFailure`: 10 if the file exists and `--force` is not given, or if another user created it in a
    ///   folder that others may write to; 64 for binary data on a terminal; 73 if the file cannot be created; 74 if the
    ///   bytes cannot be written.
    package func write(_ bytes: [UInt8], _ console: Console, isBinary: Bool = false) throws {
        if let output, output != "-" {
            try write(bytes, to: output)
            console.note("wrote \(bytes.count) bytes to \(output)")
            return
        }
        if isBinary, output == nil, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure(
                .usage, "refusing to write binary data to a terminal",
                hint: "specify a file with -o, or use -o - to force it")
        }
        try console.write(Data(bytes))
    }

    /// The folder for unnamed files: `TMPDIR`, or else `/tmp`.
    package static var scratchFolder: String { DeviceOptions.environment("TMPDIR") ?? "/tmp" }

    /// Writes the contents of an open file, from its first byte, as `write(_:_:isBinary:)` does, but without loading
    /// all of it into memory. Content that could control a terminal is not written to a terminal, except with `-o -`.
    ///
    /// - Throws: `CommandFailure`, as `write(_:_:isBinary:)`.
    package func write(contentsOf file: UnnamedFile, _ console: Console) throws {
        if let output, output != "-" {
            do throws(FileError) {
                try OutputFile.write(contentsOf: file.descriptor, to: output, replacing: force)
            } catch {
                throw Self.failure(error, hint: "choose another file with -o")
            }
            return
        }
        try file.rewind()
        let isTerminal = output == nil && isatty(STDOUT_FILENO) == 1
        // The end of the previous bytes, which may contain the beginning of a character.
        var before: ArraySlice<UInt8> = []
        while true {
            let bytes = try OpenFile.read(file.descriptor, named: "a temporary file")
            if bytes.isEmpty { return }
            let text = String(decoding: before + bytes, as: UTF8.self)
            if isTerminal,
                text.unicodeScalars.contains(where: Self.isUnsafeOnTerminal)
            {
                throw CommandFailure(
                    .usage, "refusing to write binary data or control characters to a terminal",
                    hint: "specify a file with -o, or use -o - to force it")
            }
            before = bytes.suffix(3)
            try console.write(Data(bytes))
        }
    }

    /// Whether a scalar can control the terminal, or reorder the text around it (Unicode Standard Annex 9, 2).
    static func isUnsafeOnTerminal(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: false
        case 0x202A...0x202E, 0x2066...0x2069: true
        default: scalar.properties.generalCategory == .control
        }
    }

    /// Writes the contents of an open file into a new folder.
    ///
    /// - Throws: `CommandFailure`: 73 or 74.
    package func add(
        contentsOf file: UnnamedFile, as name: String, to folder: NewFolder
    ) throws(CommandFailure) {
        do throws(FileError) {
            try folder.add(contentsOf: file.descriptor, as: name)
        } catch {
            throw Self.failure(error, hint: "choose another folder with -o")
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        do throws(FileError) {
            try OutputFile.write(bytes, to: path, replacing: force)
        } catch {
            throw Self.failure(error, hint: "choose another file with -o")
        }
    }

    /// Checks that a file is named. Commands that write a JSON document to standard output require one.
    ///
    /// - Throws: `CommandFailure` 64 if no file is named.
    package func requireFile() throws(CommandFailure) {
        guard let output, output != "-" else {
            throw CommandFailure(
                .usage, "--json writes to standard output", hint: "specify a file with -o")
        }
    }

    /// Returns the failure of a file or folder, with a hint about `-o` instead of one about the device.
    private static func failure(_ error: FileError, hint: String) -> CommandFailure {
        let failure = error.commandFailure
        return CommandFailure(
            failure.status, code: failure.code, failure.message,
            hint: [.alreadyThere, .foreignEntry, .otherFiles].contains(error.code) ? failure.hint : hint)
    }
}

// MARK: - Folders

extension DestinationOptions {
    /// Creates the folder for `-o` under a temporary name. `NewFolder.publish()` gives it the final name.
    ///
    /// `--force` replaces an existing folder, but only if every file in it was written by an earlier run: a mistyped
    /// path must not destroy a user's files.
    ///
    /// - Parameters:
    ///   - what: The reason that a folder is required, for a command line without one.
    ///   - isOurs: Returns whether an earlier run wrote the file with this name.
    /// - Throws: `CommandFailure`: 64 if `-o` names no folder, 10 if it exists or contains other files, 73 if it cannot
    ///   be created.
    package func newFolder(
        what: String, isOurs: @escaping @Sendable (String) -> Bool
    ) throws(CommandFailure) -> NewFolder {
        guard let output, output != "-" else {
            throw CommandFailure(.usage, what, hint: "specify a folder with -o")
        }
        do throws(FileError) {
            return try NewFolder(output, replacing: force ? isOurs : nil)
        } catch {
            throw Self.failure(error, hint: "choose another folder with -o")
        }
    }

    /// Writes files into the folder that `-o` names, all of them or none.
    ///
    /// - Parameters:
    ///   - files: The names and bytes of the files.
    ///   - console: The console for the command's notes.
    ///   - what: The reason that a folder is required, for a command line without one.
    ///   - isOurs: Returns whether an earlier run wrote the file with this name.
    /// - Throws: `CommandFailure`, as ``newFolder(what:isOurs:)`` and ``publish(_:)``.
    package func writeFolder(
        _ files: [(name: String, bytes: [UInt8])], _ console: Console, what: String,
        isOurs: @escaping @Sendable (String) -> Bool
    ) throws(CommandFailure) {
        let folder = try newFolder(what: what, isOurs: isOurs)
        defer { folder.discard() }
        for file in files { try add(file.bytes, as: file.name, to: folder) }
        try publish(folder)
        console.note("wrote \(counted(files.count, "file", "files")) to the folder \(folder.path)")
    }

    /// Writes a file into a new folder.
    ///
    /// - Throws: `CommandFailure`: 73 or 74.
    package func add(_ bytes: [UInt8], as name: String, to folder: NewFolder) throws(CommandFailure) {
        do throws(FileError) {
            try folder.add(bytes, as: name)
        } catch {
            throw Self.failure(error, hint: "choose another folder with -o")
        }
    }

    /// Gives a complete folder its final name.
    ///
    /// - Throws: `CommandFailure`: 10 if the name is in use by now, 73 or 74.
    package func publish(_ folder: NewFolder) throws(CommandFailure) {
        do throws(FileError) {
            try folder.publish()
        } catch {
            throw Self.failure(error, hint: "choose another folder with -o")
        }
    }

    /// Reads the index that an earlier run wrote into the folder of `-o`; nil if there is none, or if it cannot be read.
    /// Without its index, the folder is not replaced.
    package func formerIndex<Document: Decodable>(_ name: String, as type: Document.Type) -> Document? {
        guard force, let output,
            let bytes = try? InputFile.read(output + "/" + name, limit: Self.largestIndex, onlyRegular: true)
        else { return nil }
        return try? DocumentCoding.decode(type, from: Data(bytes))
    }

    /// The maximum size in bytes of an index, which is large enough for some 100,000 files.
    private static let largestIndex = 64 << 20
}
