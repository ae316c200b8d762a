import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PrivateFiles
import SecretMemory
import TestVectors
import UnixSignals

/// Writes many files into one folder, using all cores.
struct ExportFolder: Sendable {
    let files: [ExportedFile]
    let exporter: Exporter
    let snapshot: CatalogueSnapshot
    let password: SecretBytes
    let now: Date
    /// The name of the files' PKCS #12 profile.
    let profile: String
    /// The app that the files are for; nil if there is none.
    let sample: SampleApp?

    /// Creates the folder for `-o`, writes the files and `index.json`, and prints the index. The folder is written
    /// completely or not at all; a signal ends the command and leaves no files.
    ///
    /// - Throws: `CommandFailure` of the first file that failed; `ExitCode` after a signal.
    func write(to destination: DestinationOptions, _ console: Console) async throws {
        let former = Self.formerNames(destination)
        let folder = try destination.newFolder(what: "several files can be written only to a folder") {
            former.contains($0)
        }
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let work = Task { try await fill(folder, console) }
        let interrupt = Task { () -> UnixSignal? in
            for await signal in signals {
                work.cancel()
                return signal
            }
            return nil
        }
        let result = await work.result
        interrupt.cancel()
        defer { folder.discard() }
        if let signal = await interrupt.value { throw ExitCode(128 + signal.rawValue) }
        let failures = try result.get()
        if let first = failures.first {
            for failure in failures.dropFirst() { Console.failure(failure) }
            throw first
        }
        try destination.publish(folder)
        try console.present(index(folder: folder.path)) {
            for line in sample?.instructions ?? [] { try console.paragraph(line) }
            let whose = sample.map { " for \($0.rawValue)" } ?? ""
            console.note(
                "wrote \(counted(files.count, "file", "files"))\(whose) to the folder \(folder.path)")
        }
    }

    /// Creates the files, and returns the failures.
    private func fill(_ folder: NewFolder, _ console: Console) async throws -> [CommandFailure] {
        var bar = ProgressBar(console, "files", total: files.count)
        defer { bar.clear() }
        var failures: [CommandFailure] = []
        var start = 0
        while start < files.count {
            let end = min(start + Self.portion, files.count)
            failures += try await make(files[start..<end], in: folder)
            start = end
            bar.show(start)
        }
        guard failures.isEmpty else { return failures }
        try folder.add([UInt8](try DocumentCoding.encode(index())) + [0x0A], as: ExportIndexDocument.filename)
        if let sample {
            try folder.add(Array((SampleApp.password + "\n").utf8), as: Self.passwordFile)
            let text =
                sample.instructions + [
                    "The password is in the app's code, and in \(Self.passwordFile)."
                ]
            try folder.add(Array((text.joined(separator: "\n") + "\n").utf8), as: Self.instructionsFile)
        }
        return []
    }

    private func make(_ portion: ArraySlice<ExportedFile>, in folder: NewFolder) async throws
        -> [CommandFailure]
    {
        @Sendable func write(
            _ file: ExportedFile, _ bytes: @Sendable () async throws -> [UInt8]
        ) async throws -> CommandFailure? {
            do {
                try folder.add(try await bytes(), as: file.name)
                return nil
            } catch {
                let failure = CommandFailure(error)
                // A full disk or a deleted folder would cause the same failure for every file, so stop at the first.
                guard !(error is FileError) else { throw failure }
                return failure.about(file.name)
            }
        }
        return try await withThrowingTaskGroup(of: (Int, CommandFailure?).self) { group in
            var pending = portion.indices.makeIterator()
            func startNext() {
                guard let index = pending.next() else { return }
                group.addTask {
                    try Task.checkCancellation()
                    let file = portion[index]
                    let failure = try await write(file) {
                        try await file.bytes(exporter, snapshot, password: password, now: now)
                    }
                    return (index, failure)
                }
            }
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { startNext() }
            var failures: [(Int, CommandFailure)] = []
            while let (index, failure) = try await group.next() {
                if let failure { failures.append((index, failure)) }
                startNext()
            }
            return failures.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func index(folder: String? = nil) -> ExportIndexDocument {
        ExportIndexDocument(
            folder: folder,
            files: files.map { .init(file: $0.name, profile: profile, identity: $0.identity) },
            instructions: folder == nil ? nil : sample?.instructions)
    }

    /// Returns the names of the files that an earlier export wrote into a folder; empty if there are none.
    private static func formerNames(_ destination: DestinationOptions) -> Set<String> {
        let index = destination.formerIndex(ExportIndexDocument.filename, as: ExportIndexDocument.self)
        guard let index else { return [] }
        return Set(index.files.map(\.file) + [ExportIndexDocument.filename, passwordFile, instructionsFile])
    }

    /// The number of files between two updates of the progress bar.
    private static let portion = 64
    private static let passwordFile = "password.txt"
    private static let instructionsFile = "README.txt"
}
