import ArgumentParser
import CommandSupport
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import PathValidation

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check what was imported, or a file: path, validity, key match, usage and revocation.",
        discussion: """
            Each check passes, fails, is not settled or is not made. A check that fails or is not settled gives \
            exit code 7. A private key that cannot be read, as on a locked device, gives the exit code that show \
            gives. All labels or files are tried; the exit code is that of the first failure.

            A label that names nothing in the keychain is looked for among the tokens, as show does: the provider must \
            be serving then, and the key is used once to see that it is the certificate's.

            Among several paths to an anchor a valid one is found; --explain shows it, with what each certificate \
            adds, and the paths that fell. Where --crl, --ocsp or --fetch is given, revocation must be settled.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
              keyshare-consumer verify --trust test-ca.pem
              keyshare-consumer verify --trust test-ca.pem --token
              keyshare-consumer verify --trust test-ca.pem --file signature.p12 \\
                --password-file secret.txt
              keyshare-consumer verify --trust test-ca.pem --explain --graph paths.svg
            """)

    @Argument(
        help: ArgumentHelp(
            "Labels or serial numbers, or enough of their starts (default: all).", valueName: "label"),
        completion: .consumerLabels)
    var labels: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            A file to check without importing it, with the chain that is in it: PKCS #12, certificates in PEM, DER \
            or PKCS #7, or a folder of these; may be given several times.
            """, valueName: "file"), completion: .file())
    var file: [String] = []

    @Flag(
        help: """
            Check the identities of tokens, all or those of the labels: the provider must be serving, and each key is \
            used once to see that it is the certificate's.
            """)
    var token = false

    @OptionGroup var validation: ValidationOptions

    @Flag(help: "Show the path with what each certificate adds, and the paths that were tried.")
    var explain = false

    @Option(
        help: ArgumentHelp(
            "Draw the paths into a file: .svg, or .dot or .gv for Graphviz.", valueName: "file"),
        completion: .file(extensions: ["svg", "dot", "gv"]))
    var graph: String?

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var access: TokenAccessOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: file + validation.files)
        guard file.isEmpty || labels.isEmpty else {
            throw ValidationError("labels and --file exclude each other")
        }
        guard file.isEmpty || !token else { throw ValidationError("--token and --file exclude each other") }
        if let graph, !PathGraph.isDrawable(graph) {
            throw ValidationError("--graph takes a file that ends in .svg, .dot or .gv")
        }
    }

    func run() async throws {
        let console = output.console
        let (pool, revocation) = try validation.material(console)
        let validator = IdentityValidator(
            validation.verifier, pool: pool, revocation: revocation, fetcher: validation.fetcher,
            at: clock.now)
        var outcome = VerificationOutcome()
        let subjects =
            if token {
                try await tokenSubjects()
            } else {
                file.isEmpty ? try await storedSubjects() : try fileSubjects(console)
            }
        for subject in subjects {
            switch subject {
            case .identity(let identity, let file):
                outcome.add(await validator.validate(identity), file: file)
            case .unchecked(let item, let failure): outcome.add(unchecked: item, failure)
            }
        }
        if let graph { try draw(outcome.reports.map(\.report.validation), into: graph, console) }
        let failures = outcome.failures(validation, isExplained: explain)
        let document = VerificationDocument(
            results: outcome.reports.map { result($0.report, file: $0.file) },
            failures: outcome.unchecked.map {
                VerificationDocument.Failure(item: $0.item, failure: $0.failure)
            },
            summary: outcome.summary)
        try console.present(document, failure: failures.first, telling: failures.all) {
            for (report, _) in outcome.reports { try write(report, console) }
            let count = outcome.summary
            if outcome.reports.count > 1 {
                console.note(
                    "\(count.valid) valid, \(count.expired) only expired, \(count.failed) failed")
            }
        }
    }

    private func storedSubjects() async throws -> [VerificationSubject] {
        let store = try ConsumerStore(try access.device.openDevice())
        guard labels.isEmpty else {
            var subjects: [VerificationSubject] = []
            for label in labels { subjects.append(await subject(named: label, in: store)) }
            return subjects
        }
        let identities = try store.identities()
        guard !identities.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the keychain holds no identity",
                hint: "import one, name a file with --file, or check those of tokens with --token")
        }
        return identities.map { .identity(ValidationSubject($0, in: store), file: nil) }
    }

    /// The identity of the keychain that a label names, or else that of a token.
    private func subject(named label: String, in store: ConsumerStore) async -> VerificationSubject {
        do {
            return .identity(ValidationSubject(try store.identity(named: label), in: store), file: nil)
        } catch let error as RequestError where error.code == .noSuchIdentity {
            do {
                return try await access.withToken(named: label, insteadOf: error, subject)
            } catch {
                return .unchecked(item: label, CommandFailure(error))
            }
        } catch {
            return .unchecked(item: label, CommandFailure(error))
        }
    }

    private func tokenSubjects() async throws -> [VerificationSubject] {
        try await access.withTokens { client, keychain in
            let identities: [Result<TokenIdentity, any Error>] =
                labels.isEmpty
                ? keychain.identities().map { .success($0) }
                : labels.map { label in Result { try keychain.identity(named: label) } }
            guard !identities.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "no token has an identity",
                    hint: "register one: keyshare-provider token add --all")
            }
            var subjects: [VerificationSubject] = []
            for (index, identity) in identities.enumerated() {
                switch identity {
                case .success(let identity): subjects.append(await subject(client, identity))
                case .failure(let error):
                    subjects.append(.unchecked(item: labels[index], CommandFailure(error)))
                }
            }
            return subjects
        }
    }

    /// A token's identity, whose key is used to see that it is the certificate's.
    private func subject(_ client: ProviderClient, _ identity: TokenIdentity) async -> VerificationSubject {
        let proof: Result<Bool, any Error>
        do {
            proof = .success(try await identity.provesKey(to: client))
        } catch {
            proof = .failure(error)
        }
        return .identity(
            ValidationSubject(certificate: identity.certificate, keyMatches: proof), file: nil)
    }

    private func fileSubjects(_ console: Console) throws -> [VerificationSubject] {
        var reader = SubjectReader(
            reading: reading, passwords: PasswordAttempts(given: try password.password()), console: console)
        return try file.flatMap { try reader.subjects($0) }
    }

    // MARK: - Output

    private func write(_ report: ValidationReport, _ console: Console) throws {
        let identity = report.identity
        let verdict =
            report.isValid
            ? "ok" : report.hasOnlyExpired ? "EXPIRED" : report.hasFailed ? "FAILED" : "NOT CHECKED"
        let person = report.certificate.subject.commonName.map { [$0] } ?? []
        let name = ["\(identity.type(.keySharing2025))"]
        let label = console.abbreviated(identity.label)
        // Where the terminal is narrow, the serial number makes room for whose it is and for the verdict.
        let rows = [
            name + [identity.serialNumber, label] + person + [verdict], name + [label] + person + [verdict],
        ].map { $0.joined(separator: "  ") }
        if let row = rows.first(where: console.fits) {
            try console.data(row)
        } else {
            try console.paragraph(rows[1])
        }
        try console.fields(
            report.checks.map { (name: "\($0.name): \($0.outcome.words)", value: $0.explanation) })
        if explain {
            let tree = PathTree(report.validation, fetched: report.fetched)
            try console.lines(
                tree.lines(fitting: console.width.map { $0 - 2 }).map { "  " + $0 }.joined(separator: "\n"))
        }
    }

    private func result(_ report: ValidationReport, file: String?) -> VerificationDocument.Result {
        .init(
            report.identity, file: file, isValid: report.isValid,
            hasOnlyExpired: report.hasOnlyExpired,
            checks: report.checks.map {
                .init(check: $0.name, outcome: $0.outcome.words, explanation: $0.explanation)
            }, validation: report.validation, fetched: validation.fetch ? report.fetched : nil)
    }

    private func draw(_ validations: [PathValidation], into path: String, _ console: Console) throws {
        var graph = PathGraph()
        for validation in validations { graph.add(validation) }
        try graph.draw(into: path)
        console.note("drew \(path)")
    }
}
