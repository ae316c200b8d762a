import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import PathValidation

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check identities, files or messages: path, validity, usage, revocation and sender.",
        discussion: """
            Each check passes, fails, is not settled or is not checked. If a check fails or is not settled, the exit \
            code is 7. If a private key cannot be read, for example on a locked device, the exit code is that of \
            show. All labels or files are tried; the exit code is that of the first failure.

            A label that the keychain does not contain is looked up among the tokens, as by show. The provider must \
            be running for this, and the key is used once to check that it belongs to the certificate.

            If several paths lead to an anchor, the command finds a valid one. --explain shows this path, the effect \
            of each certificate, and the paths that failed. With --crl, --ocsp or --fetch, the certificate's \
            own revocation status must be settled.

            With --message, signed and encrypted messages are judged: each signature, the path of each signer at the \
            signing time or at --at, whether From is an address of the signer, whether the encryption detects \
            alterations, and which parts and header fields are not protected. Encrypted messages are opened with the \
            identities of the keychain, or of tokens with --token. Nothing is written.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
              keyshare-consumer verify --trust test-ca.pem
              keyshare-consumer verify --trust test-ca.pem --token
              keyshare-consumer verify --trust test-ca.pem --file signature.p12 \\
                --password-file secret.txt
              keyshare-consumer verify --trust test-ca.pem --explain --graph paths.svg
              keyshare-consumer verify --trust test-ca.pem --message mail
            """)

    @Argument(
        help: ArgumentHelp(
            "Labels or serial numbers, or unique prefixes (default: all).", valueName: "label"),
        completion: .keyLabels)
    var labels: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            A file to check without importing it, with the chain that it contains: PKCS #12, certificates in PEM, DER \
            or PKCS #7, or a folder of these; may be repeated.
            """, valueName: "file"), completion: .file())
    var file: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Messages to judge, folders of messages, or - for standard input.", valueName: "file"),
        completion: .file())
    var message: [String] = []

    @Flag(
        help: """
            Check the identities of tokens, all or those with the labels. The provider must be running, and each key is \
            used once to check that it belongs to the certificate.
            """)
    var token = false

    @Flag(
        help: """
            Check the identities of shared aliases, all or those with the aliases or labels. Each key is used once to \
            check that it belongs to the certificate, so the app needs a key grant for each.
            """)
    var alias = false

    @OptionGroup var validation: ValidationOptions

    @Flag(help: "Show the path, the effect of each certificate, and the paths that were tried.")
    var explain = false

    @Option(
        help: ArgumentHelp(
            "Draw the paths to a file: .svg, or .dot or .gv for Graphviz.", valueName: "file"),
        completion: .file(extensions: ["svg", "dot", "gv"]))
    var graph: String?

    @OptionGroup var reading: ReadingOptions
    @OptionGroup var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var access: TokenAccessOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try password.validate(files: file + message + validation.files)
        guard file.isEmpty || labels.isEmpty else {
            throw ValidationError("labels and --file cannot be combined")
        }
        guard [!file.isEmpty, token, alias].count(where: \.self) <= 1 else {
            throw ValidationError("--token, --alias and --file cannot be combined")
        }
        guard message.isEmpty || labels.isEmpty && file.isEmpty else {
            throw ValidationError("--message cannot be combined with labels or --file")
        }
        if let graph, !PathGraph.isDrawable(graph) {
            throw ValidationError("--graph requires a file name that ends in .svg, .dot or .gv")
        }
    }

    func run() async throws {
        let console = output.console
        let (pool, revocation, unused) = try validation.material()
        var skipped = unused.map { VerificationDocument.Skipped(file: $0.path, reason: $0.reason) }
        guard message.isEmpty else {
            return try await verifyMessages(pool, revocation, skipped: skipped, console)
        }
        let validator = IdentityValidator(
            validation.verifier, pool: pool, revocation: revocation, fetcher: validation.fetcher,
            at: clock.now)
        var outcome = VerificationOutcome()
        let subjects =
            if alias {
                try await aliasSubjects()
            } else if token {
                try await tokenSubjects()
            } else {
                file.isEmpty ? try await storedSubjects() : try fileSubjects(&skipped)
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
            skipped: skipped, summary: outcome.summary)
        try console.present(document, failure: failures.first, reporting: failures.all) {
            for (report, _) in outcome.reports { try write(report, console) }
            let count = outcome.summary
            if outcome.reports.count > 1 {
                console.note(
                    "\(count.valid) valid, \(count.expired) only expired, \(count.failed) failed")
            }
            Self.note(skipped, console)
            let checks = outcome.reports.flatMap(\.report.checks)
            if checks.contains(where: { $0.name == "revocation" && $0.outcome == .notChecked }) {
                console.note("revocation was not checked; to check it, add --crl, --ocsp or --fetch")
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
                .noSuchItem, "the keychain contains no identities",
                hint: "import one, specify a file with --file, or check the identities of tokens with --token"
            )
        }
        return identities.map { .identity(ValidationSubject($0, in: store), file: nil) }
    }

    /// Finds the identity with this label, first in the keychain and then in the tokens.
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
            let identities = keychain.identities()
            guard !identities.isEmpty || !labels.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "no token is registered",
                    hint: "register one: keyshare-provider token add --all")
            }
            return await subjects(client, all: identities) { try keychain.identity(named: $0) }
        }
    }

    private func aliasSubjects() async throws -> [VerificationSubject] {
        try await access.withAliases { client, keychain in
            guard !keychain.members.isEmpty || !labels.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "KeyChain has no entries", hint: "install some: keyshare-provider alias add")
            }
            return await subjects(client, all: keychain.members.map(\.identity)) {
                try keychain.identity(named: $0)
            }
        }
    }

    /// Returns the identities with the labels of the command line, or all.
    private func subjects(
        _ client: ProviderClient, all: [TokenIdentity], named: (String) throws -> TokenIdentity
    ) async -> [VerificationSubject] {
        guard !labels.isEmpty else {
            var subjects: [VerificationSubject] = []
            for identity in all { subjects.append(await subject(client, identity)) }
            return subjects
        }
        var subjects: [VerificationSubject] = []
        for label in labels {
            do {
                subjects.append(await subject(client, try named(label)))
            } catch {
                subjects.append(.unchecked(item: label, CommandFailure(error)))
            }
        }
        return subjects
    }

    /// A token's identity. Its key is used once to check that it belongs to the certificate.
    private func subject(_ client: ProviderClient, _ identity: TokenIdentity) async -> VerificationSubject {
        let proof: Result<Bool, any Error>
        do {
            proof = .success(try await TokenPrivateKey(identity, through: client).provesPossession())
        } catch {
            proof = .failure(error)
        }
        return .identity(
            ValidationSubject(certificate: identity.certificate, keyMatches: proof), file: nil)
    }

    private func fileSubjects(
        _ skipped: inout [VerificationDocument.Skipped]
    ) throws -> [VerificationSubject] {
        var reader = SubjectReader(
            reading: reading, passwords: PasswordAttempts(given: try password.password()))
        defer { skipped += reader.skipped }
        return try file.flatMap { try reader.subjects($0) }
    }

    // MARK: - Output

    /// Prints the number of skipped files, and with `--verbose` their names.
    static func note(_ skipped: [VerificationDocument.Skipped], _ console: Console) {
        guard !skipped.isEmpty else { return }
        for file in skipped { console.detail("skipped \(file.file): \(file.reason)") }
        let names = skipped.prefix(3).map(\.file).joined(separator: ", ")
        console.note(
            "skipped \(counted(skipped.count, "file", "files")) without material to check: \(names)"
                + (skipped.count > 3 ? ", …" : ""))
    }

    private func write(_ report: ValidationReport, _ console: Console) throws {
        let identity = report.identity
        let verdict =
            report.isValid
            ? "ok" : report.hasOnlyExpired ? "EXPIRED" : report.hasFailed ? "FAILED" : "NOT CHECKED"
        let person = report.certificate.subject.commonName.map { [$0] } ?? []
        let name = ["\(identity.type(under: .keySharing2025))"]
        let label = console.abbreviated(identity.label)
        // On a narrow terminal, the serial number is omitted to leave room for the owner and the verdict.
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

    func draw(_ validations: [PathValidation], into path: String, _ console: Console) throws {
        var graph = PathGraph()
        for validation in validations { graph.add(validation) }
        try graph.draw(into: path)
        console.note("drew \(path)")
    }
}
