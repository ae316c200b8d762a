internal import CertificateReading
package import ArgumentParser
internal import KeySharing
internal import OpenSSL

/// The `classify` subcommand of the provider and the consumer.
package struct Classify: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "classify",
        abstract:
            "Show a certificate's type under the rules of 2025, legacy and alias sharing, and the reason.",
        discussion: """
            Warnings report differences between the rules and known mistakes of other implementations. The type under \
            alias sharing (Android) depends on the order and the length of the certificate's alternative names.

            EXAMPLE:
              keyshare-consumer classify signature.p12 --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp(
            "Certificates (PEM or DER) or PKCS #12 files; - is standard input.", valueName: "file"),
        completion: .file())
    var files: [String]

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var output: OutputOptions

    package init() {}

    package func validate() throws {
        try password.validate(files: files)
    }

    package func run() throws {
        let console = output.console
        var passwords = PasswordAttempts(given: try password.password())
        var rows: [ClassificationDocument.Row] = []
        var failures: [CommandFailure] = []
        for file in files {
            do {
                rows += try certificates(in: file, &passwords).map { ClassificationDocument.Row(file, $0) }
            } catch {
                let failure = CommandFailure(error)
                Console.failure(failure.about(file))
                failures.append(failure)
            }
        }
        try console.present(
            ClassificationDocument(certificates: rows), failure: failures.first, reporting: []
        ) {
            for row in rows { try write(row, console) }
        }
    }

    private func certificates(in file: String, _ passwords: inout PasswordAttempts) throws -> [Certificate] {
        let bytes = try InputFile.read(file, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
        if bytes.first != 0x30, bytes.firstRange(of: Array("-----BEGIN ".utf8)) != nil {
            return try Certificate.pem(bytes)
        }
        if Certificate.isLikely(der: bytes) { return [try Certificate(der: bytes)] }
        let contents = try reading.open(bytes, with: &passwords, named: file)
        let certificates = contents.identities.map(\.certificate) + contents.certificates
        guard !certificates.isEmpty else {
            throw CommandFailure(.noCertificate, "contains no certificate")
        }
        return certificates
    }

    private func write(_ row: ClassificationDocument.Row, _ console: Console) throws {
        try console.data("\(row.file)  \(row.subject)")
        try console.fields(
            [
                (name: "2025", value: "\(row.type): \(row.because)"),
                (name: "legacy", value: "\(row.legacyType): \(row.legacyBecause)"),
                (name: "alias", value: "\(row.aliasType): \(row.aliasBecause)"),
                (name: "facts", value: row.facts),
                (
                    name: "name order",
                    value: row.nameOrder.isEmpty ? "no names" : row.nameOrder.joined(separator: ", ")
                ),
            ] + row.warnings.map { (name: "warning", value: $0.message) }
                + row.aliasWarnings.map { (name: "alias warning", value: $0.message) })
    }
}
