import ArgumentParser
import CommandSupport
import Conformance
import Diagnostics
import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import TestVectors
import UnixSignals

struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Test another consumer with every test vector.",
        usage: "keyshare-provider conformance [<options>] -- <cmd> ...",
        discussion: """
            The command after -- runs in the current folder, once for each test vector, with several runs in \
            parallel. {file}, {password-file}, {password}, {trust}, {crl}, {date} and {recipient} are replaced. {out} \
            is an empty folder that the command may write to. Exit code 0 means that it accepts the file. A command \
            that hangs, crashes, starts more than 64 processes or uses too much memory is killed and reported. If it \
            cannot run on valid files, the exit code is 64.

            A consumer is tested for the checks that it claims to perform: files open (parse), keys belong to their \
            certificates (identity), or certificates are also valid (path). With --reports json it writes \
            {"identities": N, "blames": "password"|"file"|null} to standard output, so that the accepted identities \
            and the blamed cause are tested as well.

            The groups are formats, faults, archives, policy, service and messages. The last two run only if --only \
            names them. For service, a provider is started, {file} is the name of the item, and KEYSHARE_SOCKET is the \
            provider's socket.

            For messages, {file} is a signed or encrypted message and {recipient} is the PKCS #12 file that opens it. \
            The claims then mean that messages open and signatures match (parse), the sender is the signer \
            (identity), or the signer's certificate is also valid (path). -o writes the messages and expected.json.

            --fuzz mutates valid files instead, for a time such as 10m or for a number of files. Findings are crashes, \
            hangs, and answers that differ from those of this package's reader. -o writes each as a new test vector. \
            Without a consumer, it tests this package's reader.

            With --baseline, the exit code is 7 if a verdict is worse than in that file, and 0 otherwise. The reports \
            show reasons that you write into the file.

            EXAMPLE:
              keyshare-provider conformance --skip archives -- \\
                openssl pkcs12 -in {file} -passin file:{password-file} -noenc
              keyshare-provider conformance --fuzz 10m -o findings -- \\
                openssl pkcs12 -in {file} -passin file:{password-file} -noenc
              keyshare-provider conformance --only messages -o messages
              keyshare-provider conformance --list
            """,
        subcommands: [ConformanceDiff.self])

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Run only the test vectors with these names or groups; zip-* is a prefix.", valueName: "name"),
        completion: .testVectors)
    var only: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Skip the test vectors with these names or groups.", valueName: "name"),
        completion: .testVectors)
    var skip: [String] = []

    @Option(
        help: ArgumentHelp("The checks of the consumer: parse, identity or path.", valueName: "claim"),
        completion: .list(TestVectorClaim.allCases.map(\.rawValue)))
    var claims = TestVectorClaim.parse

    @Option(
        help: ArgumentHelp(
            "The exit codes for a rejected file, such as 1,2; any other code is a crash. (default: all but 0)",
            valueName: "codes"), transform: ExitCodes.init)
    var refusedBy: ExitCodes?

    @Option(
        help: ArgumentHelp(
            "The exit codes for a wrong password.", valueName: "codes"),
        transform: ExitCodes.init)
    var passwordBlamedBy: ExitCodes?

    @Option(
        help: ArgumentHelp(
            "The format of the consumer's report on standard output: json.", valueName: "form"),
        completion: .list([ReportForm.json.rawValue]))
    var reports: ReportForm?

    @Option(help: ArgumentHelp("The time limit for each test vector, in seconds.", valueName: "seconds"))
    var timeout = 10.0

    @Option(help: ArgumentHelp("The memory limit, in MiB.", valueName: "mib"))
    var memory = 1_024

    @Option(help: ArgumentHelp("The number of parallel runs (default: one for each core).", valueName: "n"))
    var jobs: Int?

    @OptionGroup var baselines: BaselineOptions

    @Option(help: ArgumentHelp("Write the results as a JUnit file, for CI servers.", valueName: "file"))
    var junit: String?

    @Option(help: ArgumentHelp("Write the results as a self-contained HTML report.", valueName: "file"))
    var html: String?

    @Flag(help: "List the test vectors with the behaviour of a correct consumer, and run nothing.")
    var list = false

    @OptionGroup var fuzzing: FuzzOptions
    @OptionGroup var vectors: VectorOptions

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The consumer and its arguments.", valueName: "cmd"))
    var consumer: [String] = []

    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (0.01...3_600).contains(timeout) else {
            throw ValidationError("--timeout must be a number from 0.01 to 3600")
        }
        guard (16...1_048_576).contains(memory) else {
            throw ValidationError("--memory must be a number from 16 to 1048576")
        }
        guard (1...1_024).contains(jobs ?? 1) else {
            throw ValidationError("--jobs must be a number from 1 to 1024")
        }
        // run() reports a missing consumer. Validation cannot, because the subcommand `diff` has no consumer.
        guard !list || consumer.isEmpty else {
            throw ValidationError("--list cannot be combined with a consumer")
        }
        let others =
            list || !only.isEmpty || !skip.isEmpty || junit != nil || html != nil || baselines.isGiven
        guard fuzzing.folder == nil || fuzzing.fuzz != nil || !only.isEmpty else {
            throw ValidationError("-o needs --fuzz or --only messages")
        }
        guard fuzzing.fuzz == nil || !others else {
            throw ValidationError(
                "--fuzz cannot be combined with --list, --only, --skip, --junit, --html or a baseline")
        }
    }

    func run() async throws {
        let console = output.console
        if let amount = fuzzing.fuzz { return try await fuzz(amount, console) }
        let selection = VectorSelection(only: only, skip: skip)
        try selection.requireKnownNames()
        if list { return try present(selection, console) }
        // Without --seed, choose a random seed, so that the files of failed test vectors can be generated again.
        let (seed, date) = (seeding.seed ?? .random(in: .min ... .max), date)
        let settings = try vectors.settings(seed: seed, at: date)
        if let folder = fuzzing.folder {
            try await writeMessages(selection, settings, to: folder, console)
            if consumer.isEmpty { return }
        }
        let template = try template(needsFile: !selection.files.isEmpty || !selection.messages.isEmpty)
        let known = try baselines.read(for: claims)
        guard !selection.isEmpty else {
            throw CommandFailure(.usage, "--only and --skip exclude every test vector")
        }
        let folder = FileManager.default.temporaryDirectory.path + "/keyshare-" + UUID().uuidString.prefix(13)
        try PrivateFolder.make(folder)
        defer { Self.remove(folder, console) }
        let container = ProcessContainer()
        let outcome = try await withSignals(container) {
            try await conformanceRun(template, container).report(
                on: selection, settings: settings, in: folder,
                width: jobs ?? ProcessInfo.processInfo.activeProcessorCount
            ) { console.progress("\($0) of \($1) test vectors") }
        }
        console.progress(nil)
        let (outcomes, files) = try report(of: outcome)
        let report = known.compared(outcomes)
        // Print the results first, so that they are not lost if a report cannot be written.
        try console.present(report) {
            try ConformanceText(report: report, isRecorded: known.target != nil).show(on: console)
        }
        try write(report, files, console)
        try known.write(report, console)
        let failed = report.results.filter(\.isWorse)
        let messages = failed.filter { $0.groups.contains(.messages) }
        try end(
            report,
            hint: "to write the same files: "
                + vectors.command(
                    seed: seed, at: date, names: (messages.isEmpty ? failed : messages).map(\.name),
                    areMessages: !messages.isEmpty))
    }

    /// Writes the selected messages, and prints the expectations if no consumer is tested.
    private func writeMessages(
        _ selection: VectorSelection, _ settings: TestVectorSuite.Settings, to path: String,
        _ console: Console
    ) async throws {
        guard selection.files.isEmpty, selection.services.isEmpty, !selection.messages.isEmpty else {
            throw CommandFailure(
                .usage, "-o writes only messages",
                hint: "select them with --only messages; keyshare-provider faults --write writes other files")
        }
        seeding.warn(console)
        let folder = VectorFolder(path: path, option: "-o", replaces: nil)
        try folder.prepare(for: [MessageVectorSuite.filename])
        let suite = try await MessageVectorSuite(
            selection.messages, settings, scratch: DestinationOptions.scratchFolder,
            width: ProcessInfo.processInfo.activeProcessorCount)
        try folder.write(suite.files)
        let note = "wrote \(counted(suite.files.count, "file", "files")) to \(path)"
        guard consumer.isEmpty else { return console.note(note) }
        try console.present(suite.expectations) { console.note(note) }
    }

    /// Ends the command with the exit code of the report.
    private func end(_ report: ConformanceReport, hint: String) throws {
        let notRun = report.summary[Verdict.notRun.rawValue] ?? 0
        let isRecorded = baselines.writeBaseline != nil && baselines.baseline == nil && notRun == 0
        guard !report.isPassed, !isRecorded else { return }
        let failed = report.results.count(where: \.isWorse)
        let words =
            report.baseline == nil
            ? counted(failed, "test vector does not pass", "test vectors do not pass")
            : counted(failed, "test vector is", "test vectors are") + " worse than the baseline"
        let rest = notRun == 0 ? "" : ", and \(counted(notRun, "was not run", "were not run"))"
        let failure = CommandFailure(.notConformant, words + rest, hint: hint)
        Console.failure(failure)
        throw failure.reported
    }

    // MARK: - Before the run

    func template(needsFile: Bool) throws(CommandFailure) -> ConsumerTemplate {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        switch ConsumerTemplate.make(consumer, path: path, needsFile: needsFile) {
        case .template(let template): return template
        case .problem(.empty):
            throw CommandFailure(
                .usage, "add the consumer and its arguments after --",
                hint: "see keyshare-provider conformance --help")
        case .problem(.noSuchProgram(let name)):
            throw CommandFailure(
                .usage, "the program \u{201C}\(name)\u{201D} cannot be run",
                hint:
                    "write ./NAME for a program in this folder; names without a slash are looked up in PATH"
            )
        case .problem(.noFile):
            throw CommandFailure(
                .usage, "the consumer\u{2019}s arguments contain no placeholder for the file",
                hint: "use {file} as the placeholder for its path")
        }
    }

    /// The date of the run in whole seconds, so that a command line can repeat it.
    var date: Date {
        Date(timeIntervalSince1970: seeding.date(clock).timeIntervalSince1970.rounded(.down))
    }

    func conformanceRun(_ template: ConsumerTemplate, _ container: ProcessContainer) -> ConformanceRun {
        var reading = AnswerReading()
        reading.refusals = refusedBy?.codes
        reading.passwordBlames = passwordBlamedBy?.codes ?? []
        reading.hasReports = reports != nil
        reading.claim = claims
        var limits = ProcessLimits()
        limits.time = timeout
        limits.memory = memory << 20
        return ConformanceRun(
            consumer: template, reading: reading, limits: limits,
            environment: ProcessInfo.processInfo.environment,
            workingFolder: FileManager.default.currentDirectoryPath, container: container)
    }

    /// Runs `body`. Meanwhile SIGINT and SIGTERM end the consumer under test, not this command.
    func withSignals<Result: Sendable>(
        _ container: ProcessContainer, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let watching = Task {
            for await _ in signals { container.stop() }
        }
        defer { watching.cancel() }
        return try await body()
    }

    // MARK: - Output

    private func present(_ selection: VectorSelection, _ console: Console) throws {
        let password = TestVectorSuite.usualPassword
        let isWhole = only.isEmpty && skip.isEmpty
        let files = selection.files.map { TestVectorSuite.Entry($0, file: nil, password: password) }
        let services = (isWhole ? ServiceVector.all : selection.services).map(\.entry)
        let messages = (isWhole ? MessageVector.all : selection.messages).map { $0.entry(password: password) }
        let entries = files + services + messages
        try console.present(
            VectorsDocument(version: TestVectorSuite.Manifest.currentVersion, vectors: entries)
        ) {
            var table = Table(
                "VECTOR", .init("GROUPS", leaves: 1), .init(claims.rawValue.uppercased()),
                .init("DESCRIPTION", .wraps(30)))
            for entry in entries {
                table.append(
                    entry.name, entry.groups.map(\.rawValue).joined(separator: ","),
                    entry.expected[claims].text,
                    entry.summary)
            }
            try console.table(table)
        }
    }

    /// Removes the folder of a run. The consumer can leave files in it that this user cannot remove.
    static func remove(_ folder: String, _ console: Console) {
        do {
            try PrivateFolder.removeAll(folder)
        } catch {
            console.note("warning: \(error.reason); remove the folder yourself")
        }
    }

    /// Returns the report of a run, and the files by the names of their test vectors.
    ///
    /// - Throws: `CommandFailure` (64) if the consumer cannot be run at all, after printing its standard error.
    private func report(
        of outcome: ConformanceOutcome
    ) throws(CommandFailure) -> (ConformanceReport, files: [String: [UInt8]]) {
        switch outcome {
        case .report(let report, let files): return (report, files)
        case .unusable(let consumer):
            for line in consumer.stderr.split(separator: "\n") { Console.standardError(String(line)) }
            throw CommandFailure(
                .usage, "no test vector was judged: the consumer \(consumer.reason)",
                hint: "correct the command after --, and test it with a file of keyshare-provider faults "
                    + "--write vectors")
        }
    }

    private func write(
        _ report: ConformanceReport, _ files: [String: [UInt8]], _ console: Console
    ) throws {
        let now = clock.now
        let pages: [(path: String?, text: () -> String)] = [
            (junit, { report.junit }),
            (html, { report.html(date: now) { files[$0.name] } }),
        ]
        var first: CommandFailure?
        for case (let path?, let text) in pages {
            do {
                try OutputFile.write(Array(text().utf8), to: path)
                console.note("wrote \(path)")
            } catch {
                let failure = CommandFailure(
                    .cannotCreate, "cannot write the report: \(error.reason)",
                    hint: "choose another file for it")
                Console.failure(failure)
                first = first ?? failure
            }
        }
        if let first { throw first.reported }
    }
}

/// The JSON document of `conformance --list`.
private struct VectorsDocument: Codable {
    let version: Int
    let vectors: [TestVectorSuite.Entry]
}

/// The exit codes in an option, separated by commas.
struct ExitCodes: Sendable {
    let codes: Set<Int32>

    init(_ text: String) throws {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Int32($0) }
        guard !parts.contains(nil), parts.allSatisfy({ (1...255).contains($0 ?? 0) }) else {
            throw ValidationError(
                "\u{201C}\(text)\u{201D} is not a list of exit codes from 1 to 255, such as 1,2")
        }
        codes = Set(parts.compactMap(\.self))
    }
}

/// The formats of a consumer's report.
enum ReportForm: String, ExpressibleByArgument { case json }

extension TestVectorClaim: ExpressibleByArgument {}
