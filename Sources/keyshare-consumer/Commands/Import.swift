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
        abstract: "Pick items of the provider, or take files from disk, and import what is in them.",
        discussion: """
            For each item: access is started, the password fetched from the item's password service, the bytes \
            read and imported, and access stopped. With several items all are tried; the exit code is that of \
            the first failure. The password options are for --file, and for legacy items whose password is no longer \
            on the pasteboard.

            EXAMPLE:
              keyshare-consumer import PIV.zip --uti \(Selector.authentication.zipType(.keySharing2025))
              keyshare-consumer import --file signature.p12 --password-file secret.txt
            """)

    @Argument(help: ArgumentHelp("Identifiers or file names of items.", valueName: "item"))
    var items: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PKCS #12 file or zip on disk; may be given several times; - is standard input.",
            valueName: "file"))
    var file: [String] = []

    @Option(
        help: ArgumentHelp(
            "Types that must have arrived, such as signature,encryption:4; otherwise the exit code is 6.",
            valueName: "types"),
        transform: Requirement.list)
    var require: [[Requirement]] = []

    @OptionGroup var request: RequestOptions
    @OptionGroup var paste: PasteOptions
    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var device: DeviceOptions
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
        let request = try request.request()
        let device = try device.openDevice()
        let importer = Importer(try ConsumerStore(device))
        let results =
            items.isEmpty
            ? try await importFiles(with: importer)
            : try await importItems(request, with: importer, on: device)
        try report(results, console)
    }

    private func importItems(
        _ request: TypeRequest, with importer: Importer, on device: Device
    ) async throws -> [ImportResult] {
        let socket = try self.device.socketPath(of: device)
        if request.mechanism == .legacy {
            return try await importRows(request, with: try legacyImport(importer, device), from: socket)
        }
        return try await ProviderClient.withConnection(path: socket) { client in
            let picker = DocumentPicker(client, request: request)
            let reader = FileReader(
                password: nil, limits: reading.limits, allowsMissingMAC: reading.allowNoMac)
            var results: [ImportResult] = []
            for name in items {
                do {
                    results += await importer.importItem(
                        try await picker.pick(name), from: client, with: reader)
                } catch {
                    results.append(ImportResult(item: name, entry: nil, outcome: .failed(error)))
                }
            }
            return results
        }
    }

    /// Imports legacy items, each over a connection of its own: the user is asked in between and may take longer
    /// than a provider keeps an idle one.
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
                results.append(ImportResult(item: name, entry: nil, outcome: .failed(error)))
            }
        }
        return results
    }

    private func legacyImport(_ importer: Importer, _ device: Device) throws -> LegacyImport {
        let given = try password.password()
        let reader = FileReader(password: nil, limits: reading.limits, allowsMissingMAC: reading.allowNoMac)
        return LegacyImport(
            importer, reader: reader, pasteboard: try Pasteboard(device: device), now: { Date() },
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
                results += await importFile(bytes, path, &passwords, importer)
            } catch {
                results.append(ImportResult(item: path, entry: nil, outcome: .failed(error)))
            }
        }
        return results
    }

    /// Imports a file under one password after another, until none is wrong or there is no other; what an
    /// earlier one opened stays imported.
    private func importFile(
        _ bytes: [UInt8], _ path: String, _ passwords: inout PasswordAttempts, _ importer: Importer
    ) async -> [ImportResult] {
        func attempt(_ password: SecretBytes?) async -> [ImportResult] {
            let reader = FileReader(
                password: password.map { .text($0) }, limits: reading.limits,
                allowsMissingMAC: reading.allowNoMac)
            return await importer.importFile(bytes, named: path, with: reader)
        }
        func isWrong(_ result: ImportResult) -> Bool {
            (result.error as? PKCS12Error)?.code == .wrongPassword
        }
        var results = await attempt(passwords.given)
        var tried = 0
        while results.contains(where: isWrong), let password = passwords.next(after: tried, for: path) {
            tried += passwords.answer == password ? 1 : 2
            let again = await attempt(password)
            if again.contains(where: { $0.identity != nil }) { passwords.keep(password) }
            results = results.flatMap { result in
                isWrong(result) ? again.filter { $0.entry == result.entry } : [result]
            }
        }
        return results
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
        let missing = Requirement.missing(require, in: results.compactMap(\.identity))
        let incomplete =
            missing.isEmpty
            ? nil
            : CommandFailure(
                .incomplete, "missing: " + missing.map(\.description).joined(separator: ", "),
                hint: "what did arrive was kept; keyshare-consumer explain says why the rest did not")
        try console.present(
            ImportDocument(
                results: rows, missing: require.isEmpty ? nil : missing.map(\.description), skipped: skipped),
            failure: results.lazy.compactMap(\.error).first.map { CommandFailure($0) }, missing: incomplete)
    }
}

/// A type that an import must bring, and how many of it.
struct Requirement: CustomStringConvertible {
    let type: CredentialType
    let count: Int

    var description: String { count == 1 ? type.rawValue : "\(type.rawValue):\(count)" }

    /// Reads `signature,encryption:4`.
    ///
    /// - Throws: `ValidationError` for anything that names no type or no count from 1.
    static func list(_ text: String) throws -> [Requirement] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let words = part.split(separator: ":", omittingEmptySubsequences: false)
            guard let type = words.first.flatMap({ CredentialType(rawValue: String($0)) }), type != .multi,
                words.count <= 2,
                let count = words.count == 2 ? Int(words[1]) : 1, count > 0
            else {
                throw ValidationError(
                    "\u{201C}\(part)\u{201D} is no type, or no type with a count behind a colon")
            }
            return Requirement(type: type, count: count)
        }
    }

    /// The requirements that the identities that arrived do not meet, with the number that is missing.
    static func missing(_ requirements: [[Requirement]], in arrived: [IdentitySummary]) -> [Requirement] {
        let most = Dictionary(grouping: requirements.flatMap(\.self), by: \.type).mapValues {
            $0.map(\.count).max() ?? 1
        }
        return CredentialType.allCases.compactMap { type in
            most[type].map { Requirement(type: type, count: $0) }
        }.compactMap { requirement in
            let labels = Set(arrived.filter { $0.type(.keySharing2025) == requirement.type }.map(\.label))
            let lacking = requirement.count - labels.count
            return lacking > 0 ? Requirement(type: requirement.type, count: lacking) : nil
        }
    }
}

extension ZipContents.Skipped.Reason {
    /// Why an entry is not looked into, as a phrase.
    fileprivate var words: String {
        switch self {
        case .folder: "a folder"
        case .macOSAttributes: "attributes that macOS keeps of another entry"
        }
    }
}
