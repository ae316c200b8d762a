import CommandSupport
import Foundation
import Glibc
import KeyShareConsumerCommand
import TestSupport
import Testing

/// One simulated device for one test: its commands, its running provider, and its files.
final class Simulation {
    let scratch: ScratchFolder
    private var provider: RunningCommand?

    /// Creates an empty device.
    init() throws {
        scratch = try ScratchFolder()
    }

    var device: String { scratch.path("device") }

    private var environment: [String: String] { ["KEYSHARE_DEVICE": device] }

    /// Runs the provider's command to its end.
    @discardableResult
    func provider(_ arguments: String..., input: String = "") async throws -> CommandRun {
        try await RunningCommand(
            .provider, arguments, environment: environment, input: Data(input.utf8)
        ).finish()
    }

    /// Runs the provider's command to its end.
    @discardableResult
    func provider(
        _ arguments: [String], environment extra: [String: String] = [:]
    ) async throws -> CommandRun {
        try await RunningCommand(
            .provider, arguments, environment: environment.merging(extra) { $1 }
        ).finish()
    }

    /// Runs the consumer's command to its end.
    @discardableResult
    func consumer(
        _ arguments: String..., input: String = "", environment extra: [String: String] = [:]
    ) async throws -> CommandRun {
        try await consumer(arguments, input: input, environment: extra)
    }

    /// Runs the consumer's command to its end.
    @discardableResult
    func consumer(
        _ arguments: [String], input: String = "", environment extra: [String: String] = [:]
    ) async throws -> CommandRun {
        try await RunningCommand(
            .consumer, arguments, environment: environment.merging(extra) { $1 }, input: Data(input.utf8)
        ).finish()
    }

    /// Runs the device's command to its end.
    @discardableResult
    func device(_ arguments: String...) async throws -> CommandRun {
        try await device(arguments)
    }

    /// Runs the device's command to its end.
    @discardableResult
    func device(_ arguments: [String]) async throws -> CommandRun {
        try await RunningCommand(.device, arguments, environment: environment).finish()
    }

    /// Starts a command and lets it run.
    func start(_ command: BuiltCommand, _ arguments: String...) throws -> RunningCommand {
        try RunningCommand(command, arguments, environment: environment)
    }

    /// Starts the provider's service and waits until it reports that it listens.
    func serve(_ arguments: String...) async throws { try await serve(arguments) }

    /// Starts the provider's service and waits until it reports that it listens.
    func serve(_ arguments: [String]) async throws {
        let running = try RunningCommand(.provider, ["serve"] + arguments, environment: environment)
        try await running.waitForError(containing: "listening on")
        provider = running
    }

    /// The process of the running provider.
    func servingProcess() throws -> Int32 { try #require(provider).processIdentifier }

    /// Stops the running provider, and waits until its process ends.
    @discardableResult
    func stopServing(by signal: Int32 = SIGTERM) async throws -> CommandRun {
        let running = try #require(provider)
        provider = nil
        running.signal(signal)
        return try await running.finish()
    }

    /// Writes a file into the scratch folder.
    func write(_ text: String, as name: String) throws -> String {
        try scratch.write(Array(text.utf8), as: name)
    }

    /// The items that the provider lists in a container.
    func items(_ container: String = "root") async throws -> [ItemListingDocument.Row] {
        try await provider("list", container, "--json").document(ItemListingDocument.self).items
    }

    /// The number of items in each of these containers.
    func counts(_ containers: [String]) async throws -> [Int] {
        var counts: [Int] = []
        for container in containers { counts.append(try await items(container).count) }
        return counts
    }

    /// The identities in the consumer's keychain, as `list` prints them.
    func held() async throws -> [IdentityDocument] {
        try await consumer("list", "--json").document(HeldIdentitiesDocument.self).identities
    }

    /// The identifier of the first item of the root: the newest identity, if any.
    func firstIdentifier() async throws -> String {
        try #require(try await items().first).identifier
    }

    /// The document of `inspect` for a file.
    func inspect(_ file: String, passwordFile: String) async throws -> InspectionDocument {
        try await consumer("inspect", file, "--password-file", passwordFile, "--json")
            .document(InspectionDocument.self)
    }

    /// The documents of `inspect` for files with the same password, keyed by file.
    func inspect(_ files: [String], password: String?) async throws -> [String: InspectionDocument] {
        // `inspect` writes a different document for a single file, so one file is named twice.
        let command = ["inspect", "--json"] + files + files.prefix(1)
        let run =
            if let password {
                try await consumer(
                    command + ["--password-file", try write(password, as: "password of files")])
            } else {
                try await consumer(command)
            }
        let documents = try run.document(InspectionsDocument.self).files
        return Dictionary(documents.map { ($0.file ?? "", $0) }) { $1 }
    }
}

extension CommandRun {
    /// Standard output as a document of a command.
    ///
    /// - Throws: `DecodingError` if standard output is empty or another document.
    func document<Document: Decodable>(_ type: Document.Type) throws -> Document {
        try DocumentCoding.decode(type, from: output)
    }

    /// The rows of the document of an import.
    func results() throws -> [ImportDocument.Row] {
        try document(ImportDocument.self).results
    }

    /// The statuses of the rows of an import.
    func statuses() throws -> [ImportDocument.Status] {
        try results().map(\.status)
    }

    /// The code of the error in the document; nil if the command succeeded.
    func errorCode() throws -> String? {
        try document(FailureDocument.self).error?.code
    }
}
