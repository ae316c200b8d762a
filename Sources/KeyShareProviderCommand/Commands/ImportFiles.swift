import CertificateReading
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PersistentToken
import SimulatedKeychain

struct ImportFiles: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import PKCS #12 files into the provider's keychain.",
        discussion: """
            Without a password option, the command tries an absent and an empty password, and then asks on the terminal.

            EXAMPLE:
              keyshare-provider import signature.p12 --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp("PKCS #12 files; - is standard input.", valueName: "file"), completion: .file())
    var files: [String]

    @Flag(
        help: """
            Register the imported identities as persistent tokens, and do not publish them: key sharing neither lists \
            nor exports them.
            """)
    var tokenOnly = false

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: files)
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.makeDevice(noting: console.note))
        var rows: [ImportDocument.Row] = []
        var failures: [CommandFailure] = []
        var passwords = PasswordAttempts(given: try password.password())
        func fail(_ file: String, _ error: any Error) {
            let failure = CommandFailure(error)
            failures.append(failure)
            rows.append(.init(item: file, entry: nil, failure: failure))
        }
        for file in files {
            do {
                let bytes = try InputFile.read(
                    file, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
                let contents = try reading.open(bytes, with: &passwords, named: file)
                let identities = contents.identities.map { ($0.certificate, $0.privateKey) }
                for (identity, isNew) in zip(contents.identities, try add(identities, to: store)) {
                    let summary = IdentitySummary(identity.certificate)
                    switch isNew {
                    case .success(let isNew):
                        rows.append(
                            .init(
                                item: file, entry: nil, status: isNew ? .imported : .duplicate,
                                identity: summary))
                    case .failure(let error): fail(file, error)
                    }
                }
                for obstacle in contents.obstacles { fail(file, obstacle) }
            } catch {
                fail(file, error)
            }
        }
        try console.present(ImportDocument(results: rows), failure: failures.first)
        if tokenOnly, !output.json { try noteMissingUsage(of: rows, in: store, console) }
    }

    /// Prints advice for tokens whose certificates have no key usage.
    private func noteMissingUsage(
        of rows: [ImportDocument.Row], in store: ProviderStore, _ console: Console
    ) throws {
        let labels = Set(rows.compactMap { $0.identity?.label })
        console.note(
            ofMissingUsage: try TokenStore(store).registrations().filter { labels.contains($0.label) }
                .map { TokensDocument.Token($0, isAlone: true) })
    }

    /// Adds identities as the options require, and returns for each whether it is new.
    ///
    /// - Throws: `KeychainError` if none could be added.
    private func add(
        _ identities: [(certificate: Certificate, privateKey: PrivateKey)], to store: ProviderStore
    ) throws -> [Result<Bool, any Error>] {
        guard tokenOnly else {
            return try store.add(identities).map { outcome in Result { try outcome.isNew() } }
        }
        let tokens = TokenStore(store)
        return identities.map { certificate, privateKey in
            Result {
                guard try !tokens.isPublished(certificate.label) else {
                    throw CommandFailure(
                        .refused, "key sharing already publishes the identity, so it cannot be token-only",
                        hint:
                            "to also register it: keyshare-provider token add \(certificate.label.prefix(12))"
                    )
                }
                if try tokens.registration(certificate.label)?.hasKey == true { return false }
                try tokens.add(certificate, privateKey, rule: .cryptoTokenKit)
                return true
            }
        }
    }
}
