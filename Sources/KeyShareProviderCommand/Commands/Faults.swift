import ArgumentParser
import CommandSupport
import Conformance
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import PrivateFiles
import TestVectors

struct Faults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults",
        abstract: "List the defects of test credentials, or write test vectors.",
        discussion: """
            The list shows how a correct consumer handles each defect, with the exit codes of import and verify, the \
            status (OSStatus) of Apple's Security framework, and advice for the error text of an app. provision \
            --fault creates a credential with one of them. --write writes the test vectors of conformance, including \
            valid ones, with a manifest for programs in any language.

            EXAMPLE:
              keyshare-provider faults
              keyshare-provider faults --write test-vectors --seed 1 --at 2026-01-01
              keyshare-provider faults --write test-vectors --only expired no-mac
            """)

    @Option(
        help: ArgumentHelp(
            "Write the test vectors of conformance and a manifest to this folder.", valueName: "dir"),
        completion: .directory)
    var write: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Write only the test vectors with these names or groups; zip-* is a prefix.", valueName: "name"),
        completion: .testVectors)
    var only: [String] = []

    @Flag(help: "Replace existing files.")
    var force = false

    @OptionGroup var vectors: VectorOptions
    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard write != nil || !force else { throw ValidationError("--force requires --write") }
        guard write != nil || only.isEmpty else { throw ValidationError("--only requires --write") }
        guard write != nil || seeding.seed == nil else {
            throw ValidationError("--seed requires --write")
        }
        guard write != nil || !vectors.isGiven else {
            throw ValidationError("--profile, --person and the password require --write")
        }
    }

    func run() async throws {
        let console = output.console
        if let write { return try await makeFiles(in: write, console) }
        try console.present(FaultsDocument(TestVector.defective)) {
            var table = Table(
                "FAULT", "IMPORT", "VERIFY", "OSSTATUS", .init("DESCRIPTION", .wraps(30)),
                .init("ADVICE", .wraps(30)))
            for fault in TestVector.defective {
                let expectation = fault.expectation
                table.append(
                    fault.name, String(expectation.importing),
                    expectation.verifying.map(String.init) ?? "-", String(fault.appAdvice.code),
                    fault.summary,
                    fault.appAdvice.advice)
            }
            try console.table(table)
        }
    }

    private func makeFiles(in folder: String, _ console: Console) async throws {
        let selection = VectorSelection(only: only)
        try selection.requireKnownNames()
        guard selection.services.isEmpty, selection.messages.isEmpty else {
            throw CommandFailure(
                .usage, "--write writes no test vectors of the groups service and messages",
                hint: "for messages: keyshare-provider conformance --only messages -o DIR")
        }
        seeding.warn(console)
        let settings = try vectors.settings(seed: seeding.seed, at: seeding.date(clock))
        let target = VectorFolder(path: folder, option: "--write", replaces: force)
        try target.prepare(for: [TestVectorSuite.manifestName] + selection.files.map(\.fileName))
        let collection = try await TestVectorSuite(
            selection.files, settings, width: ProcessInfo.processInfo.activeProcessorCount)
        try target.write(collection.files)
        try console.present(collection.manifest) {
            console.note("wrote \(counted(collection.files.count, "file", "files")) to \(folder)")
        }
    }
}
