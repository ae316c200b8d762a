import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take PKCS #12 files into the provider's key chain.",
        discussion: """
            Without a password option an absent and then an empty password are tried, and then the terminal is \
            asked.

            EXAMPLE:
              keyshare-provider import signature.p12 --password-file secret.txt
            """)

    @Argument(help: ArgumentHelp("PKCS #12 files; - is standard input.", valueName: "file"))
    var files: [String]

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !files.isEmpty else { throw ValidationError("name at least one file") }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        var rows: [ImportDocument.Row] = []
        var failures: [CommandFailure] = []
        var given = try password.password()
        for file in files {
            do {
                let bytes = try InputFile.read(
                    file, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
                let contents = try reading.open(bytes, password: &given, named: file)
                guard !contents.identities.isEmpty else {
                    throw CommandFailure(
                        .noSuchItem, code: "nothing-to-import",
                        "\(file) holds no certificate with its private key")
                }
                let outcomes = try store.add(contents.identities.map { ($0.certificate, $0.privateKey) })
                for (identity, outcome) in zip(contents.identities, outcomes) {
                    let summary = IdentitySummary(identity.certificate)
                    switch outcome {
                    case .added:
                        rows.append(.init(item: file, entry: nil, status: .imported, identity: summary))
                    case .duplicate:
                        rows.append(.init(item: file, entry: nil, status: .duplicate, identity: summary))
                    }
                }
            } catch {
                let failure = CommandFailure(error)
                failures.append(failure)
                rows.append(.init(item: file, entry: nil, failure: failure))
            }
        }
        try ImportDocument(results: rows, failure: failures.first).write(to: console, json: output.json)
        if let first = failures.first { throw ReportedFailure(first) }
    }
}
