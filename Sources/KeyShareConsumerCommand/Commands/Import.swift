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
        abstract: "Pick items of the provider, or take files from disk, and import what is in them.",
        discussion: """
            For each item, access is started, the password is fetched from the password service of the item, the \
            bytes are read and imported, and access is stopped. All items are tried; the exit code is that of the \
            first failure. The password options are for --file, and for legacy items whose password is no longer \
            on the pasteboard.

            EXAMPLE:
              keyshare-consumer import PIV.zip --uti \(Selector.authentication.zipType(.keySharing2025))
              keyshare-consumer import --file signature.p12 --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp(
            "Identifiers, file names or paths of items, or starts of labels or serial numbers.",
            valueName: "item"), completion: .providerItems)
    var items: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PKCS #12 file or zip on disk; may be given several times; - is standard input.",
            valueName: "file"), completion: .file())
    var file: [String] = []

    @Option(
        help: ArgumentHelp(
            "Types that must have arrived, such as signature,encryption:4; otherwise the exit code is 6.",
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
        guard items.isEmpty != file.isEmpty else {
            throw ValidationError(
                items.isEmpty ? "name an item, or a file with --file" : "items and --file exclude each other")
        }
        try password.validate(files: file)
        if !file.isEmpty, !request.uti.isEmpty || paste.allowPaste || paste.denyPaste {
            throw ValidationError("types and the pasteboard have no part in --file")
        }
        if !items.isEmpty, request.mechanism == .keySharing2025, password.isGiven {
            throw ValidationError(
                "the password of an item comes from the provider; the options are for --file and legacy")
        }
    }

    func run() async throws {
        let console = output.console
        let request = try TypeRequest(request.uti, mechanism: request.mechanism)
        let device = try device.makeDevice(console)
        let importer = Importer(
            try ConsumerStore(device),
            reader: FileReader(limits: reading.limits, allowsMissingMAC: reading.allowNoMac))
        let results =
            items.isEmpty
            ? try await importFiles(with: importer)
            : try await importItems(request, with: importer, on: device)
        try report(results, console)
    }

    private func importItems(
        _ request: TypeRequest, with importer: Importer, on device: Device
    ) async throws -> [ImportResult] {
        let socket = try self.socket.path(of: device)
        if request.mechanism == .legacy {
            return try await importRows(request, with: try legacyImport(importer, device), from: socket)
        }
        let client = try await ProviderClient.connect(path: socket)
        let picker = DocumentPicker(client, request: request)
        var results: [ImportResult] = []
        for name in items {
            do {
                results += await importer.importItem(try await picker.pick(name), from: client)
            } catch {
                results.append(ImportResult(item: name, outcome: .failed(error)))
            }
        }
        await client.close()
        return results
    }

    /// Imports legacy items, each over a connection of its own: the user is asked in between and may take
    /// longer than a provider keeps an idle one.
    private func importRows(
        _ request: TypeRequest, with legacy: LegacyImport, from socket: String
    ) async throws -> [ImportResult] {
        var results: [ImportResult] = []
        for name in items {
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

    /// The results of a file with what may be wrong with the password in place of the error that it is wrong. The
    /// entries of a zip have one password, so that one of them is enough to find out.
    private func advise(
        on results: [ImportResult], of bytes: [UInt8], _ password: SecretBytes?
    ) -> [ImportResult] {
        func isWrong(_ result: ImportResult) -> Bool {
            (result.error as? PKCS12Error)?.code == .wrongPassword
        }
        guard let wrong = results.first(where: isWrong) else { return results }
        var file = bytes
        if ZipBundle.isArchive(bytes) {
            let entry = try? ZipBundle.read(bytes).entries.first { $0.name == wrong.entry }?.result.get()
            guard let entry else { return results }
            file = entry
        }
        let failure = WrongPassword.failure(
            of: password, for: file, limits: reading.limits, allowNoMAC: reading.allowNoMac)
        return results.map { result in
            isWrong(result)
                ? ImportResult(item: result.item, entry: result.entry, outcome: .failed(failure)) : result
        }
    }

    /// Reads the types of `--require`, such as `signature,encryption:4`.
    ///
    /// - Throws: `ValidationError` for a part that names no type or no count from 1.
    private static func requirements(_ text: String) throws -> [Requirement] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            guard let requirement = Requirement(String(part)) else {
                throw ValidationError(
                    "\u{201C}\(part)\u{201D} is no type, or no type with a count behind a colon")
            }
            return requirement
        }
    }

    private func report(_ results: [ImportResult], _ console: Console) throws {
        var skipped: [ImportDocument.Skipped] = []
        let rows = results.compactMap { result -> ImportDocument.Row? in
            switch result.outcome {
            case .skipped(let reason):
                skipped.append(
                    .init(item: result.item, entry: result.entry ?? "", reason: reason.words))
                return nil
            case .imported(let identity):
                return .init(item: result.item, entry: result.entry, status: .imported, identity: identity)
            case .duplicate(let identity):
                return .init(item: result.item, entry: result.entry, status: .duplicate, identity: identity)
            case .failed(let error):
                return .init(item: result.item, entry: result.entry, failure: CommandFailure(error))
            }
        }
        let missing = Requirement.missing(require.flatMap(\.self), in: results.compactMap(\.identity))
        let incomplete =
            missing.isEmpty
            ? nil
            : CommandFailure(
                .incomplete, "missing: " + missing.map(\.description).joined(separator: ", "),
                hint: "what did arrive was kept; why the rest did not: keyshare-consumer explain"
                    + request.uti.map { " --uti " + $0.quotedForShell }.joined()
                    + (request.mechanism == .legacy ? " --mechanism legacy" : ""))
        try console.present(
            ImportDocument(
                results: rows, missing: require.isEmpty ? nil : missing.map(\.description), skipped: skipped),
            failure: results.lazy.compactMap(\.error).first.map { CommandFailure($0) }, missing: incomplete)
    }
}

extension ZipContents.Skipped.Reason {
    /// The reason for which an entry is skipped, as a phrase.
    fileprivate var words: String {
        switch self {
        case .folder: "a folder"
        case .macOSAttributes: "attributes that macOS keeps of another entry"
        }
    }
}
