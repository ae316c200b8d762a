internal import CertificateReading
package import ArgumentParser
internal import KeySharing
internal import OpenSSL

/// `classify`, a subcommand of the provider and of the consumer.
package struct Classify: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "classify",
        abstract: "Show the type of a certificate under the rules of 2025 and of legacy, and why.",
        discussion: """
            Warnings say where the rules differ, and which mistakes other implementations make.

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
    // Not used: every command takes the options of a device.
    @OptionGroup var device: DeviceOptions
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
        try console.present(ClassificationDocument(certificates: rows), failure: failures.first, telling: [])
        {
            for row in rows { try write(row, console) }
        }
    }

    private func certificates(in file: String, _ passwords: inout PasswordAttempts) throws -> [Certificate] {
        let bytes = try InputFile.read(file, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
        if bytes.contains(UInt8(ascii: "-")), let certificates = try? Certificate.pem(bytes) {
            return certificates
        }
        if let certificate = try? Certificate(der: bytes) { return [certificate] }
        let contents = try reading.open(bytes, with: &passwords, named: file)
        let certificates = contents.identities.map(\.certificate) + contents.certificates
        guard !certificates.isEmpty else {
            throw CommandFailure(.noCertificate, "there is no certificate in it")
        }
        return certificates
    }

    private func write(_ row: ClassificationDocument.Row, _ console: Console) throws {
        try console.data("\(row.file)  \(row.subject)")
        try console.fields(
            [
                (name: "2025", value: "\(row.type): \(row.because)"),
                (name: "legacy", value: "\(row.legacyType): \(row.legacyBecause)"),
                (name: "facts", value: row.facts),
            ] + row.warnings.map { (name: "warning", value: $0.message) })
    }
}
