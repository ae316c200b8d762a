import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check what was imported, or a file: chain, validity, key match and usage.",
        discussion: """
            Each check passes, fails or is not made. A failed check gives exit code 7. A private key that cannot be \
            read, as on a locked device, gives the exit code that show gives. All labels or files are tried; the \
            exit code is that of the first failure.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
              keyshare-consumer verify --trust test-ca.pem
              keyshare-consumer verify --trust test-ca.pem --file signature.p12 --password-file secret.txt
            """)

    @Argument(help: ArgumentHelp("Labels, or enough of their starts (default: all).", valueName: "label"))
    var labels: [String] = []

    @Option(
        help: ArgumentHelp(
            "Certificates in PEM; the self-signed ones are trusted, the others help to build chains.",
            valueName: "file"))
    var trust: String

    @Option(
        help: ArgumentHelp("Revocation lists in PEM or DER; may be given several times.", valueName: "file"))
    var crl: [String] = []

    @Option(
        help: ArgumentHelp(
            "A policy of which the chain must be valid for at least one, dotted; may be given several times.",
            valueName: "oid"))
    var policy: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PKCS #12 file to check without importing it, with the chain that is in it; may be given several times.",
            valueName: "file"))
    var file: [String] = []

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: file + crl + [trust])
        guard file.isEmpty || labels.isEmpty else {
            throw ValidationError("labels and --file exclude each other")
        }
        for oid in policy where oid.wholeMatch(of: /[0-2](\.\d+)+/) == nil {
            throw ValidationError("\u{201C}\(oid)\u{201D} is no dotted object identifier")
        }
    }

    func run() throws {
        let console = output.console
        let trustBytes = try InputFile.read(trust, limit: Self.limit)
        let given: [Certificate]
        do throws(CertificateError) {
            given = try Certificate.pem(trustBytes)
        } catch {
            throw CommandFailure(.malformed, "\(trust): \(error.reason)")
        }
        var validator = IdentityValidator(trusting: given, at: clock.now)
        validator.verifier.acceptedPolicies = policy
        for path in crl { validator.verifier.revocationLists += try revocationLists(path) }
        let subjects = file.isEmpty ? try storedSubjects() : try fileSubjects()
        var reports: [ValidationReport] = []
        var unchecked: [(item: String, failure: CommandFailure)] = []
        // Nil until something fails; the failure of an unchecked item, or none for an identity that fails a check.
        var first: CommandFailure??
        for subject in subjects {
            switch subject {
            case .identity(let identity):
                let report = validator.validate(identity)
                reports.append(report)
                if first == nil, !report.isValid { first = .some(nil) }
            case .unchecked(let item, let failure):
                unchecked.append((item, failure))
                if first == nil { first = failure }
            }
        }
        let failed = reports.filter { !$0.isValid }
        let summary = failed.first.map { report in
            report.keyError.map { CommandFailure($0) }
                ?? CommandFailure(
                    .validationFailed, "\(failed.count) of \(reports.count) identities failed a check")
        }
        let failure = first.flatMap { $0 ?? summary }
        let document = VerificationDocument(
            results: reports.map(VerificationDocument.Result.init),
            failures: unchecked.map { VerificationDocument.Failure(item: $0.item, failure: $0.failure) })
        try console.present(
            document, failure: failure, telling: unchecked.map(\.failure) + [summary].compactMap(\.self)
        ) {
            for report in reports { try write(report, console) }
        }
    }

    private static let limit = 16 << 20

    private func revocationLists(_ path: String) throws -> [CertificateRevocationList] {
        let bytes = try InputFile.read(path, limit: Self.limit)
        do throws(CertificateError) {
            if bytes.starts(with: Array("-----".utf8)) { return try CertificateRevocationList.pem(bytes) }
            return [try CertificateRevocationList(der: bytes)]
        } catch {
            throw CommandFailure(.malformed, "\(path): \(error.reason)")
        }
    }

    private func storedSubjects() throws -> [Subject] {
        let store = try ConsumerStore(try device.openDevice())
        let identities: [Result<StoredIdentity, any Error>] =
            labels.isEmpty
            ? try store.identities().map { .success($0) }
            : labels.map { label in Result { try store.identity(labelled: label) } }
        guard !identities.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the keychain holds no identity",
                hint: "import one, or name a file with --file")
        }
        return identities.enumerated().map { index, identity in
            switch identity {
            case .success(let identity): .identity(ValidationSubject(identity, in: store))
            case .failure(let error): .unchecked(item: labels[index], CommandFailure(error))
            }
        }
    }

    private func fileSubjects() throws -> [Subject] {
        var passwords = PasswordAttempts(given: try password.password())
        return file.flatMap { path -> [Subject] in
            func unchecked(_ error: any Error) -> Subject {
                .unchecked(item: path, CommandFailure(error).naming(path))
            }
            do {
                let bytes = try InputFile.read(
                    path, limit: reading.limits.fileSize + reading.limits.trailingZeroes)
                let contents = try reading.open(bytes, with: &passwords, named: path)
                // A key of another certificate is a subject of its own, whose check of the key fails.
                let obstacles = contents.obstacles.filter { $0.code != .keyMismatch }
                return ValidationSubject.all(in: contents).map { .identity($0) } + obstacles.map(unchecked)
            } catch {
                return [unchecked(error)]
            }
        }
    }

    private func write(_ report: ValidationReport, _ console: Console) throws {
        let identity = report.identity
        let verdict = report.isValid ? "ok" : report.hasFailed ? "FAILED" : "NOT CHECKED"
        try console.data(
            "\(identity.type(.keySharing2025))  \(identity.serialNumber)  \(identity.label.abbreviated)  \(verdict)"
        )
        try console.fields(
            report.checks.map { (name: "\($0.name): \($0.outcome.words)", value: $0.explanation) })
    }
}

extension VerificationDocument.Result {
    /// Describes the checks of one identity.
    fileprivate init(_ report: ValidationReport) {
        self.init(
            label: report.identity.label, type: report.identity.type(.keySharing2025).rawValue,
            serial: report.identity.serialNumber, valid: report.isValid,
            checks: report.checks.map {
                .init(check: $0.name, outcome: $0.outcome.words, explanation: $0.explanation)
            })
    }
}

/// What a label, a file or a part of a file gives to check.
private enum Subject {
    case identity(ValidationSubject)
    /// Nothing can be checked; `item` is the label or the path as it was named.
    case unchecked(item: String, CommandFailure)
}

extension CommandFailure {
    /// The failure with the path of the file in front of its message, where the message does not name the
    /// path.
    fileprivate func naming(_ path: String) -> CommandFailure {
        message.contains(path) ? self : about(path)
    }
}
