import TestCredentials
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import PrivateFiles

struct Faults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the faults that test credentials can be made with, or write a file of each.",
        discussion: """
            The list says what a correct consumer does about each fault, with the exit codes of import and verify. \
            provision --fault makes one of them.

            EXAMPLE:
              keyshare-provider faults
              keyshare-provider faults --write test-vectors --seed 1 --at 2026-01-01
            """)

    @Option(
        help: ArgumentHelp(
            "Write every fault, sound files beside them, and a manifest into this folder.", valueName: "dir"))
    var write: String?

    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    // Not used: every command takes the options of a device.
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard write != nil || seeding.seed == nil else {
            throw ValidationError("--seed goes with --write")
        }
    }

    func run() async throws {
        let console = output.console
        if let write { return try await makeFiles(in: write, console) }
        try console.present(FaultsDocument(TestVector.defective)) {
            var table = Table("FAULT", "IMPORT", "VERIFY", "WHAT IT IS")
            for fault in TestVector.defective {
                let expectation = fault.expectation
                table.append(
                    fault.name, String(expectation.importing),
                    expectation.verifying.map(String.init) ?? "-", fault.summary)
            }
            try console.lines(table.text)
        }
    }

    private func makeFiles(in folder: String, _ console: Console) async throws {
        seeding.warn()
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "cannot make the folder \(folder)", hint: "name another one with --write")
        }
        let collection = try await TestVectorSuite(
            at: seeding.date(clock), password: Self.password, from: seeding.source,
            width: ProcessInfo.processInfo.activeProcessorCount)
        for file in collection.files { try AtomicFile.write(file.bytes, to: "\(folder)/\(file.name)") }
        try console.present(collection.manifest) {
            console.note("wrote \(counted(collection.files.count, "file", "files")) to \(folder)")
        }
    }

    /// The password of every file. It is no secret: the manifest holds it.
    private static let password = "Test material only"
}
