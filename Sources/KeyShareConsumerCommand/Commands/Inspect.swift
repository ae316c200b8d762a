import PKCS12Compatibility
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import OpenSSL
import SecretMemory
import ZipBundles

struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show everything about files on disk without importing them.",
        discussion: """
            Accepts PKCS #12 files, zips of them, and in PEM or DER: certificates (also PKCS #7), keys, revocation lists \
            and OCSP responses. Also accepts configuration profiles (.mobileconfig) and S/MIME messages (.eml, .p7m, \
            .p7s). All files are tried; the exit code is that of the first failure.

            Each object is followed by findings: a severity, a code, a sentence, and the rule of a standard. Findings \
            do not change the exit code. Nothing is verified or decrypted; see "verify" and "decrypt". For encrypted \
            keys and messages, the algorithms and recipients are shown.

            EXAMPLE:
              keyshare-consumer inspect signature.p12 --password-file secret.txt
              keyshare-consumer inspect signature.p12 --readers --password-file secret.txt
              keyshare-consumer inspect authority.crl test-ca.mobileconfig
              keyshare-consumer inspect encryption.zip test-ca.pem \\
                --password-file secret.txt
            """)

    @Argument(
        help: ArgumentHelp(
            "The files, or - for standard input.", valueName: "file"),
        completion: .file())
    var files: [String]

    @OptionGroup var password: PasswordOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Predict, with models of other programs, whether they would open each file.")
    var readers = false

    @OptionGroup var clock: ClockOptions
    @OptionGroup var fileLimits: FileLimitOptions

    func validate() throws {
        try password.validate(files: files)
    }

    func run() async throws {
        let console = output.console
        let inspector = FileInspector(
            limits: fileLimits.limits, scratch: DestinationOptions.scratchFolder)
        var passwords = PasswordAttempts(given: try password.password())
        var results: [InspectedFile] = []
        for file in files {
            results.append(try await inspect(file, inspector, &passwords))
        }
        let failures = results.flatMap { result in
            result.failures.map { files.count == 1 ? $0 : $0.about(result.name) }
        }
        if files.count == 1, let only = results.first {
            try console.present(only.document, failure: failures.first, reporting: failures) {
                try only.write(console)
            }
        } else {
            let documents = results.map { $0.document.file($0.name, failure: $0.failures.first) }
            try console.present(
                InspectionsDocument(files: documents), failure: failures.first, reporting: failures
            ) {
                for (index, result) in results.enumerated() {
                    try console.data("\(index == 0 ? "" : "\n")\(result.name):")
                    try result.write(console)
                }
            }
        }
    }

    private func inspect(
        _ file: String, _ inspector: FileInspector, _ passwords: inout PasswordAttempts
    ) async throws -> InspectedFile {
        let bytes: [UInt8]
        do throws(CommandFailure) {
            bytes = try InputFile.read(file, limit: inspector.largestFile, cutsOff: true)
        } catch {
            // If the only file cannot be read, there is no document.
            if files.count == 1 { throw error }
            return InspectedFile(name: file, failure: error)
        }
        let (inspection, opened, tried) = try await inspector.inspect(
            bytes, trying: passwords.candidates(for: file))
        if let opened { passwords.keep(opened) }
        let limits = fileLimits.limits
        return InspectedFile(name: file, inspection, readers: readers, at: clock.now) {
            WrongPassword.failure(of: tried, for: bytes, limits: limits)
        } withoutPassword: {
            // Many readers treat the empty password like no password.
            guard tried?.isEmpty == true else { return nil }
            return PKCS12.inspect(bytes, password: .absent, limits: limits)
        }
    }
}

/// A file from the command line with the result of its inspection, for JSON and for text output.
private struct InspectedFile {
    /// The name on the command line.
    let name: String
    let document: InspectionDocument
    /// The errors that prevent reading the file, or entries of a zip, completely.
    let failures: [CommandFailure]
    private let parts: [Part]

    private struct Part {
        let contents: FileInspection.Contents
        let document: InspectionDocument
        let verdicts: [ReaderModel.Verdict]?
        let failure: CommandFailure?
    }

    /// Creates the result for a file that cannot be opened.
    init(name: String, failure: CommandFailure) {
        self.name = name
        document = InspectionDocument(failure: failure, format: FileInspection.Format.pkcs12.rawValue)
        failures = [failure]
        parts = []
    }

    /// Creates the result of an inspection.
    ///
    /// - Parameters:
    ///   - readers: Whether models of other programs assess each PKCS #12 file.
    ///   - date: The time at which certificates and lists are examined.
    ///   - wrongPassword: Returns a failure that explains what may be wrong with the password. Called only if the file
    ///     is not a zip.
    ///   - withoutPassword: Returns the report on the file without a password if the empty password was tried,
    ///     otherwise nil. Called only if the file is not a zip.
    init(
        name: String, _ inspection: FileInspection, readers: Bool, at date: Date,
        wrongPassword: () -> CommandFailure,
        withoutPassword: () -> PKCS12Report?
    ) {
        self.name = name
        parts = inspection.parts.map { part in
            let format = part.format.rawValue
            var document: InspectionDocument
            var verdicts: [ReaderModel.Verdict]?
            var failure: CommandFailure?
            switch part.contents {
            case .pkcs12(let report):
                if readers {
                    let isWrong = report.verdict == .wrongPassword && inspection.format != .zip
                    let unprotected = isWrong ? withoutPassword() : nil
                    verdicts = ReaderModel.allCases.map {
                        $0.verdict(on: report, withoutPassword: unprotected)
                    }
                }
                document = InspectionDocument(report, verdicts, at: date)
                failure = report.error.map { CommandFailure($0) }
                if report.verdict == .wrongPassword, inspection.format != .zip {
                    let found = wrongPassword()
                    document.explain(found)
                    failure = found
                }
            case .material(let material):
                document = InspectionDocument(material, format: format, at: date)
            case .profile(let profile):
                document = InspectionDocument(profile, format: format, at: date)
            case .message(let message):
                document = InspectionDocument(message, format: format, at: date)
                failure = message.layers.isEmpty ? message.errors.first.map { CommandFailure($0) } : nil
            case .unreadable(let error):
                let found = CommandFailure(error)
                document = InspectionDocument(failure: found, format: format)
                failure = found
            }
            if part.repeatsName { document.note(ImportResult.noteOnRepeatedName) }
            return Part(
                contents: part.contents,
                document: part.entry.map { document.entry($0, failure: failure) } ?? document,
                verdicts: verdicts, failure: part.entry.map { failure?.about($0) } ?? failure)
        }
        failures = parts.compactMap(\.failure)
        // If a zip is rejected as a whole, its only part has no entry name and represents the zip.
        if inspection.format == .zip, !inspection.parts.contains(where: { $0.entry == nil }) {
            document = InspectionDocument(
                entries: parts.map(\.document), skipped: inspection.skipped.map(\.name))
        } else {
            document = parts[0].document
        }
    }

    func write(_ console: Console) throws {
        if let entries = document.entries {
            try console.fields(
                [(name: "verdict", value: "\(document.verdict): \(document.message)")], indent: "")
            for (part, entry) in zip(parts, entries) {
                try console.data("\n\(entry.entry ?? ""):")
                try write(part, console)
            }
            for name in document.skipped ?? [] { try console.data("\n\(name): skipped") }
        } else if let part = parts.first {
            try write(part, console)
        }
    }

    private func write(_ part: Part, _ console: Console) throws {
        switch part.contents {
        case .pkcs12(let report):
            try write(report, part.document, console)
            if let verdicts = part.verdicts { try write(verdicts, console) }
        case .material, .profile, .message:
            try console.fields([verdict(part)], indent: "")
            try writeMaterial(part.document, console)
        case .unreadable:
            try console.fields([verdict(part)], indent: "")
        }
    }

    private func verdict(_ part: Part) -> (name: String, value: String) {
        (name: "verdict", value: "\(part.document.verdict): \(part.document.message)")
    }

    private func write(_ report: PKCS12Report, _ document: InspectionDocument, _ console: Console) throws {
        let contents = report.contents
        func words(_ count: Int?) -> String { count.map(String.init) ?? "unknown" }
        var fields = [(name: "verdict", value: "\(document.verdict): \(document.message)")]
        let mac = contents.mac.map {
            "\($0.algorithm), \($0.iterations) iterations, salt of \($0.saltLength) bytes"
        }
        fields.append((name: "MAC", value: mac ?? "none"))
        fields += contents.encryption.map { (name: "encryption", value: $0) }
        fields.append((name: "certificates", value: words(document.certificates)))
        fields.append((name: "other bags", value: words(document.otherBags)))
        fields += document.notes.map { (name: "note", value: $0) }
        try console.fields(fields, indent: "")
        for identity in document.identities { try write(identity, "identity", console) }
        for entry in document.certificatesWithoutKey {
            try write(entry, "certificate without its key", console)
        }
        for bag in InspectedBag.all(in: contents) {
            try console.data("\n\(bag.title)")
            try console.fields(bag.fields)
        }
    }

    private func write(_ certificate: CertificateDocument, _ title: String, _ console: Console) throws {
        try write(title, certificate.fields, certificate.findings, console)
    }

    private func write(
        _ title: String, _ fields: [(name: String, value: String)], _ findings: [FindingDocument],
        _ console: Console
    ) throws {
        try console.data("\n\(title)")
        try console.fields(fields)
        try console.findings(findings)
    }

    /// Prints a file that is not PKCS #12: a profile, certificates, keys, revocation lists or OCSP responses.
    private func writeMaterial(_ document: InspectionDocument, _ console: Console) throws {
        if let profile = document.profile {
            try write("profile", profile.fields, profile.findings, console)
            for certificate in profile.signerCertificates {
                try write(certificate, "certificate of the signature", console)
            }
            for payload in profile.payloads {
                try write("payload", payload.fields, [], console)
                for certificate in payload.certificates { try write(certificate, "certificate", console) }
            }
            return
        }
        for certificate in document.certificatesWithoutKey { try write(certificate, "certificate", console) }
        for message in document.messages {
            try write(message.title, message.fields, message.findings, console)
        }
        for key in document.privateKeys { try write("private key", key.fields, key.findings, console) }
        for key in document.publicKeys { try write("public key", key.fields, key.findings, console) }
        for list in document.revocationLists {
            try write("revocation list", list.fields, list.findings, console)
        }
        for response in document.statusResponses {
            try write("OCSP response", response.fields, response.findings, console)
            for certificate in response.certificates {
                try write(certificate, "certificate of the response", console)
            }
        }
        try console.fields(document.notes.map { (name: "note", value: $0) }, indent: "")
    }

    private func write(_ verdicts: [ReaderModel.Verdict], _ console: Console) throws {
        try console.data("\nother readers (\(ReaderModel.caution))")
        try console.fields(
            verdicts.map { verdict in
                let reasons = verdict.reasons.joined(separator: " ")
                return (
                    name: verdict.reader.title,
                    value: verdict.outcome.rawValue + (reasons.isEmpty ? "" : ": \(reasons)")
                )
            })
    }
}
