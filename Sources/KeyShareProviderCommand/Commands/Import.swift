import CertificateReading
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import PKCS #12 files into the provider's keychain.",
        discussion: """
            Without a password option, no password and the empty password are tried first; then the terminal asks.

            EXAMPLE:
              keyshare-provider import signature.p12 --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp("PKCS #12 files; - is standard input.", valueName: "file"), completion: .file())
    var files: [String]

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: files)
        guard !files.isEmpty else { throw ValidationError("name at least one file") }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.makeDevice(console))
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
                let outcomes = try store.add(contents.identities.map { ($0.certificate, $0.privateKey) })
                for (identity, outcome) in zip(contents.identities, outcomes) {
                    let summary = IdentitySummary(identity.certificate)
                    switch outcome {
                    case .added:
                        rows.append(.init(item: file, entry: nil, status: .imported, identity: summary))
                    case .duplicate:
                        rows.append(.init(item: file, entry: nil, status: .duplicate, identity: summary))
                    case .failed(let error): fail(file, error)
                    }
                }
                for obstacle in contents.obstacles { fail(file, obstacle) }
            } catch {
                fail(file, error)
            }
        }
        try console.present(ImportDocument(results: rows), failure: failures.first)
    }
}
