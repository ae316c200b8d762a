import KeyShareClient
import SecretMemory
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL
import ZipBundles

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import identities from the provider's items or from files on disk.",
        discussion: """
            For each item, the command opens security-scoped access, fetches the password from the item's password \
            service, reads and imports the bytes, and closes the access. After a failure it continues, and exits with \
            the code of the first failure. Without an item, --preset imports everything that the request enables, each identity once. The \
            password options apply to --file, and to legacy items whose password is no longer on the \
            pasteboard.

            EXAMPLE:
              keyshare-consumer import PIV.zip --uti \(IdentitySelector.authentication.zipType(under: .keySharing2025))
              keyshare-consumer import --preset newest-signature-and-all-encryption
              keyshare-consumer import --file signature.p12 --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp(
            "Items, by identifier, file name or path, or by a unique prefix of a label or serial number.",
            valueName: "item"), completion: .providerItems)
    var items: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PKCS #12 file or zip on disk, or - for standard input; may be repeated.",
            valueName: "file"), completion: .file())
    var file: [String] = []

    @Option(
        help: ArgumentHelp(
            "Required types, such as signature,encryption:4; if one is missing, the exit code is 6.",
            valueName: "types"),
        transform: Import.requirements)
    var require: [[Requirement]] = []

    @OptionGroup var request: RequestOptions
    @OptionGroup var paste: PasteOptions
    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if request.listPresets { return }
        guard items.isEmpty || file.isEmpty else {
            throw ValidationError("items and --file cannot be combined")
        }
        guard !items.isEmpty || !file.isEmpty || request.preset != nil else {
            throw ValidationError("specify an item, a file with --file, or a request with --preset")
        }
        try password.validate(files: file)
        if !file.isEmpty, !request.types.isEmpty || paste.allowPaste || paste.denyPaste {
            throw ValidationError(
                "--file cannot be combined with --uti, --preset, --allow-paste or --deny-paste")
        }
        if file.isEmpty, request.mechanism == .keySharing2025, password.isGiven {
            throw ValidationError(
                "the provider supplies the passwords of items; password options require --file or --mechanism legacy"
            )
        }
    }

    func run() async throws {
        let console = output.console
        if request.listPresets { return try request.writePresets(console) }
        let request = try TypeRequest(request.types, under: request.mechanism)
        let device = try device.makeDevice(noting: console.note)
        let importer = Importer(
            try ConsumerStore(device),
            reader: FileReader(limits: reading.limits, allowsMissingMAC: reading.allowNoMac))
        if !file.isEmpty { return try report(try await importFiles(with: importer), console) }
        let socket = try self.socket.path(of: device)
        if request.mechanism == .legacy {
            let legacy = try legacyImport(importer, device)
            return try report(try await importRows(request, with: legacy, from: socket), console)
        }
        let client = try await ProviderClient.connect(path: socket)
        let picker = DocumentPicker(client, request: request)
        var results: [ImportResult] = []
        for name in items.isEmpty ? try await picker.everyItem().map(\.identifier) : items {
            do {
                results += await importer.importItem(try await picker.pick(name), from: client)
            } catch {
                results.append(ImportResult(item: name, outcome: .failed(error)))
            }
        }
        await client.close()
        try report(results, console)
    }

    /// Imports legacy items over a separate connection each. The user is prompted before each item and may take longer
    /// than the provider's idle timeout.
    private func importRows(
        _ request: TypeRequest, with legacy: LegacyImport, from socket: String
    ) async throws -> [ImportResult] {
        var (results, names): ([ImportResult], [String]) = ([], items)
        if items.isEmpty {
            names = try await ProviderClient.withConnection(path: socket) { client in
                try await client.present(request.identifiers).map(\.identifier)
            }
        }
        for name in names {
            do {
                results += try await ProviderClient.withConnection(path: socket) { client in
                    await legacy.importRow(name, request, from: client)
                }
            } catch let error where !results.isEmpty {
                results.append(ImportResult(item: name, outcome: .failed(error)))
            }
        }
        return results
    }

    private func legacyImport(_ importer: Importer, _ device: Device) throws -> LegacyImport {
        let given = try password.password()
        return LegacyImport(
            importer, pasteboard: try Pasteboard(device: device), now: { Date() },
            consent: paste.consent(to:)
        ) { item in
            given ?? PasswordOptions.prompt("Password of \(item.filename)")
        }
    }

    private func importFiles(with importer: Importer) async throws -> [ImportResult] {
        var passwords = PasswordAttempts(given: try password.password())
        var results: [ImportResult] = []
        for path in file {
            do {
                let bytes = try InputFile.read(path, limit: FileReader.largestFile)
                let (imported, opened, tried) = await importer.importFile(
                    bytes, named: path, trying: passwords.candidates(for: path))
                results += advise(on: imported, of: bytes, tried)
                if let opened { passwords.keep(opened) }
            } catch {
                results.append(ImportResult(item: path, outcome: .failed(error)))
            }
        }
        return results
    }

    /// Replaces the wrong-password errors in the results with a failure that explains what may be wrong with the
    /// password. All entries of a zip have the same password, so only the first rejected entry is examined.
    private func advise(
        on results: [ImportResult], of bytes: [UInt8], _ password: SecretBytes?
    ) -> [ImportResult] {
        guard let wrong = results.first(where: \.isUnderAnotherPassword) else { return results }
        var file = bytes
        if ZipBundle.isArchive(bytes) {
            let entries = (try? ZipBundle.read(bytes).entries) ?? []
            guard entries.indices.contains(wrong.position),
                let entry = try? entries[wrong.position].result.get()
            else { return results }
            file = entry
        }
        let failure = WrongPassword.failure(
            of: password, for: file, limits: reading.limits, allowNoMAC: reading.allowNoMac)
        return results.map { result in
            result.isUnderAnotherPassword ? result.with(.failed(failure)) : result
        }
    }

    /// Parses the types of `--require`, such as `signature,encryption:4`.
    ///
    /// - Throws: `ValidationError` for a part that contains no type, or a count below 1.
    private static func requirements(_ text: String) throws -> [Requirement] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            guard let requirement = Requirement(String(part)) else {
                throw ValidationError(
                    "\u{201C}\(part)\u{201D} is neither a type nor a type followed by a colon and a count")
            }
            return requirement
        }
    }

    private func report(_ results: [ImportResult], _ console: Console) throws {
        var skipped: [ImportDocument.Skipped] = []
        let rows = results.compactMap { result -> ImportDocument.Row? in
            var row: ImportDocument.Row
            switch result.outcome {
            case .skipped(let reason):
                skipped.append(
                    .init(item: result.item, entry: result.entry ?? "", reason: reason.words))
                return nil
            case .imported(let identity):
                row = .init(item: result.item, entry: result.entry, status: .imported, identity: identity)
            case .duplicate(let identity):
                row = .init(item: result.item, entry: result.entry, status: .duplicate, identity: identity)
            case .failed(let error):
                row = .init(item: result.item, entry: result.entry, failure: CommandFailure(error))
            }
            if result.repeatsName { row.note = ImportResult.noteOnRepeatedName }
            return row
        }
        let missing = Requirement.missing(require.flatMap(\.self), in: results.compactMap(\.identity))
        let incomplete =
            missing.isEmpty
            ? nil
            : CommandFailure(
                .incomplete,
                "missing: " + missing.map { "\($0.count) \($0.type.rawValue)" }.joined(separator: ", "),
                hint:
                    "the imported identities were kept; to see why others are missing: keyshare-consumer explain"
                    + request.arguments)
        try console.present(
            ImportDocument(
                results: rows, missing: require.isEmpty ? nil : missing.map(\.description), skipped: skipped),
            failure: results.lazy.compactMap(\.error).first.map { CommandFailure($0) }, missing: incomplete)
    }
}

extension ZipContents.Skipped.Reason {
    /// The reason for skipping an entry, as a phrase.
    fileprivate var words: String {
        switch self {
        case .folder: "a folder"
        case .macOSAttributes: "macOS attributes of another entry"
        }
    }
}
