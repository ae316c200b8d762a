import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import PrivateFiles
import TestVectors

struct Vectors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vectors",
        abstract: "Write the test vectors as a data package for other projects.",
        discussion: """
            The command writes the test vectors in two formats: as files with manifest.json, and as \
            pkcs12-vectors.json, whose format resembles Project Wycheproof's. pkcs12-vectors.json contains all PKCS \
            #12 files, their passwords, the expected results, and the digests of keys and certificates. --format \
            selects one of the two. The same --seed and --at always write the same bytes.

            EXAMPLE:
              keyshare-provider vectors -o vectors --seed 1 --at 2026-01-01
              keyshare-provider vectors -o vectors --format json
            """)

    /// The forms of the package.
    enum Format: String, ExpressibleByArgument, CaseIterable { case files, json }

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to this folder, and create it if necessary.", valueName: "dir"),
        completion: .directory)
    var output: String

    @Option(
        help: ArgumentHelp(
            "Write only the files with their manifest, or only pkcs12-vectors.json. (default: both)",
            valueName: "format"))
    var format: Format?

    @Flag(help: "Replace existing files.")
    var force = false

    @OptionGroup var vectors: VectorOptions
    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var presentation: OutputOptions

    func run() async throws {
        let console = presentation.console
        seeding.warn(console)
        let settings = try vectors.settings(seed: seeding.seed, at: seeding.date(clock))
        let folder = VectorFolder(path: output, option: "-o", replaces: force)
        var names = format == .json ? [] : [TestVectorSuite.manifestName] + TestVector.all.map(\.fileName)
        if format != .files { names.append(Self.document) }
        try folder.prepare(for: names)
        let suite = try await TestVectorSuite(
            TestVector.all, settings, width: ProcessInfo.processInfo.activeProcessorCount)
        let package = VectorPackage(suite, of: TestVector.all)
        var files = format == .json ? [] : suite.files
        if format != .files { files.append((Self.document, try package.json())) }
        try folder.write(files)
        let counts = VectorsSummary(
            vectors: format == .json ? nil : suite.manifest.vectors.count,
            tests: format == .files ? nil : package.numberOfTests, files: files.map(\.name))
        try console.present(counts) {
            console.note("wrote \(counted(files.count, "file", "files")) to \(output)")
        }
    }

    /// The name of the single-file form.
    static let document = "pkcs12-vectors.json"
}

/// The JSON document of `vectors`.
private struct VectorsSummary: Encodable {
    /// The number of test vectors in the manifest, or nil.
    let vectors: Int?
    /// The number of tests in the single-file form, or nil.
    let tests: Int?
    /// The names of the written files.
    let files: [String]
}

/// A folder for the files of test vectors.
struct VectorFolder {
    let path: String
    /// The option that names the folder, for messages.
    let option: String
    /// Whether existing files are replaced. Nil if the command has no `--force`.
    let replaces: Bool?

    /// Creates the folder, and checks that it contains none of these files. Generating all test vectors takes seconds,
    /// and fuzzing takes as long as the user chose, so a command calls this first.
    ///
    /// - Parameter names: Files that the command always writes, such as the manifest.
    /// - Throws: `CommandFailure`: 73 if the folder cannot be created, 10 if one of the files exists and is not replaced.
    func prepare(for names: [String]) throws(CommandFailure) {
        do {
            // Like files, new folders never allow other users to write, regardless of the umask.
            var isFolder: ObjCBool = false
            let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            if !exists || !isFolder.boolValue {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
        } catch {
            throw CommandFailure(
                .cannotCreate, "cannot create the folder \(path)",
                hint: "choose another one with \(option)")
        }
        try rejectExisting(names)
    }

    /// Writes all files, or none of them, because the manifest would not match a mixture of two runs.
    ///
    /// - Throws: `CommandFailure`: 10 if a file exists. `FileError` if a file cannot be written.
    func write(_ files: [(name: String, bytes: [UInt8])]) throws {
        try rejectExisting(files.map(\.name))
        // A full disk is noticed before the first file is replaced.
        let complete = try NewFolder("\(path)/.keyshare-files", replacing: nil)
        defer { complete.discard() }
        for file in files { try complete.add(file.bytes, as: file.name) }
        try complete.moveFiles(into: path)
    }

    private func rejectExisting(_ names: [String]) throws(CommandFailure) {
        let paths = names.map { "\(path)/\($0)" }
        guard replaces != true, let taken = paths.first(where: FileManager.default.fileExists) else { return }
        throw CommandFailure(FileError(.alreadyThere, path: taken, "\(taken) already exists"))
            .advising(
                replaces == nil
                    ? "choose another folder with \(option)" : "add --force to replace the files in \(path)")
    }
}
