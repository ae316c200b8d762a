import ArgumentParser
import CommandSupport
import Conformance
import Diagnostics
import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import TestCredentials
import UnixSignals

struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Hold any other consumer against every test vector.",
        discussion: """
            The command behind -- runs once for each test vector, several at a time, with {file}, {password-file}, \
            {password}, {trust}, {crl} and {out}, an empty folder, put in. Exit code 0 says that it accepts the file. \
            It is contained: what hangs, crashes, forks or takes too much memory is ended and reported.

            A consumer is held to what it claims to check: that a file opens (parse), that keys belong to their \
            certificates (identity), or that the certificates are valid too (path). With --reports json it writes \
            {"identities": N, "blames": "password"|"file"|null} to standard output, so that what it takes and what \
            it blames are judged too.

            The groups are formats, faults, archives, policy and service. The last is run only where --only names \
            it: a provider is started, {file} is the name of the item, and KEYSHARE_SOCKET leads to it.

            EXAMPLE:
              keyshare-provider conformance --skip archives -- \\
                openssl pkcs12 -in {file} -passin file:{password-file} -noenc
              keyshare-provider conformance --list
            """)

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Only test vectors of these names or groups; zip-* takes all that begin so.", valueName: "name"),
        completion: .values { ConformanceCommand.selectable($0) })
    var only: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("No test vectors of these names or groups.", valueName: "name"),
        completion: .values { ConformanceCommand.selectable($0) })
    var skip: [String] = []

    @Option(
        help: ArgumentHelp("What the consumer claims to check: parse, identity or path.", valueName: "claim"),
        completion: .list(TestVectorClaim.allCases.map(\.rawValue)))
    var claims = TestVectorClaim.parse

    @Option(
        help: ArgumentHelp(
            "The exit codes by which it refuses, such as 1,2; any other one is a crash. (default: all but 0)",
            valueName: "codes"), transform: ExitCodes.init)
    var refusedBy: ExitCodes?

    @Option(
        help: ArgumentHelp(
            "The exit codes by which it says that the password is wrong.", valueName: "codes"),
        transform: ExitCodes.init)
    var passwordBlamedBy: ExitCodes?

    @Option(
        help: ArgumentHelp("How it reports on standard output: json.", valueName: "form"),
        completion: .list([ReportForm.json.rawValue]))
    var reports: ReportForm?

    @Option(help: ArgumentHelp("How long it may take for each, in seconds.", valueName: "seconds"))
    var timeout = 10.0

    @Option(help: ArgumentHelp("How much memory it may take, in MiB.", valueName: "mib"))
    var memory = 1_024

    @Option(help: ArgumentHelp("How many run at a time (default: one for each core).", valueName: "n"))
    var jobs: Int?

    @Option(help: ArgumentHelp("Write the results as JUnit for a CI server.", valueName: "file"))
    var junit: String?

    @Option(help: ArgumentHelp("Write the results as one page for people.", valueName: "file"))
    var html: String?

    @Flag(help: "List the test vectors, with what a correct consumer does, and run nothing.")
    var list = false

    @Option(
        help: ArgumentHelp(
            "How files are protected, unless a test vector says otherwise: modern, compatible, "
                + "purebred-sample or pbmac1.", valueName: "profile"))
    var profile: VectorProfile = .modern

    @Option(help: ArgumentHelp("Whose credentials they are (default: a random name).", valueName: "name"))
    var person: String?

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The consumer and its arguments.", valueName: "cmd"))
    var consumer: [String] = []

    @OptionGroup var password: PasswordOptions
    @OptionGroup var seeding: SeedOptions
    @OptionGroup var clock: ClockOptions
    // Not used: every command takes the options of a device.
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (0.01...3_600).contains(timeout) else {
            throw ValidationError("--timeout takes a number from 0.01 to 3600")
        }
        guard (16...1_048_576).contains(memory) else {
            throw ValidationError("--memory takes a number from 16 to 1048576")
        }
        guard (1...1_024).contains(jobs ?? 1) else {
            throw ValidationError("--jobs takes a number from 1 to 1024")
        }
        guard list || !consumer.isEmpty else {
            throw ValidationError("name the consumer and its arguments behind --")
        }
        guard !list || consumer.isEmpty else { throw ValidationError("--list goes without a consumer") }
    }

    /// The candidates for one more name or group of test vectors.
    private static func selectable(_ request: CompletionRequest) -> [String] {
        request.matching(VectorSelection.allNames.filter { !request.contains($0) })
    }

    func run() async throws {
        let console = output.console
        let selection = VectorSelection(only: only, skip: skip)
        if let unknown = selection.unknown.first {
            throw CommandFailure(
                .usage, "there is no test vector or group \u{201C}\(unknown.word)\u{201D}",
                hint: (unknown.nearest.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? "")
                    + "see keyshare-provider conformance --list")
        }
        if list { return try present(selection, console) }
        let template = try template(needsFile: !selection.files.isEmpty)
        guard !selection.files.isEmpty || !selection.services.isEmpty else {
            throw CommandFailure(.usage, "--only and --skip leave no test vector")
        }
        let settings = try settings()
        let folder = FileManager.default.temporaryDirectory.path + "/keyshare-" + UUID().uuidString.prefix(13)
        try PrivateFolder.make(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let container = ProcessContainer()
        let report = try await withSignals(container) {
            try await conformanceRun(template, container).report(
                on: selection, settings: settings, in: folder,
                width: jobs ?? ProcessInfo.processInfo.activeProcessorCount
            ) { console.progress("\($0) of \($1) test vectors") }
        }
        console.progress(nil)
        // The results come first: a report that cannot be written must not cost them.
        try console.present(report) { try show(report, console) }
        try write(report, from: folder + "/vectors", console)
        guard !report.isPassed else { return }
        let notRun = report.summary[Verdict.notRun.rawValue] ?? 0
        let failed = report.results.count - (report.summary[Verdict.pass.rawValue] ?? 0) - notRun
        let words = counted(failed, "test vector does not pass", "test vectors do not pass")
        let failure = CommandFailure(
            .notConformant, notRun == 0 ? words : "\(words), and \(notRun) were not run",
            hint: "the files, to try by hand: keyshare-provider faults --write vectors")
        Console.failure(failure)
        throw failure.reported
    }

    // MARK: - Before the run

    private func template(needsFile: Bool) throws(CommandFailure) -> ConsumerTemplate {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        switch ConsumerTemplate.make(consumer, path: path, needsFile: needsFile) {
        case .template(let template): return template
        case .problem(.empty):
            throw CommandFailure(.usage, "name the consumer and its arguments behind --")
        case .problem(.noSuchProgram(let name)):
            throw CommandFailure(.usage, "there is no program \u{201C}\(name)\u{201D} that can be run")
        case .problem(.noFile):
            throw CommandFailure(
                .usage, "the consumer\u{2019}s arguments have no place for the file",
                hint: "write {file} where its path belongs")
        }
    }

    private func settings() throws -> TestVectorSuite.Settings {
        var text = TestVectorSuite.usualPassword
        if let given = try password.password() {
            guard let valid = unsafe given.withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) }),
                !valid.isEmpty, !valid.contains("\0")
            else {
                throw CommandFailure(
                    .usage, "the password of test vectors is UTF-8, not empty, without zero bytes")
            }
            text = valid
        }
        var settings = TestVectorSuite.Settings(at: seeding.date(clock), password: text, from: seeding.source)
        settings.profile = PKCS12Profile(profile.name)
        settings.profile.includesChain = true
        if let person {
            var description = PersonDescription()
            description.name = person
            settings.person = try PersonDescription.persons([description], seed: seeding.seed).first
        }
        return settings
    }

    private func conformanceRun(_ template: ConsumerTemplate, _ container: ProcessContainer) -> ConformanceRun
    {
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
            environment: ProcessInfo.processInfo.environment, container: container)
    }

    /// Runs `body`; SIGINT and SIGTERM end the consumer under test, and not this command.
    private func withSignals<Result: Sendable>(
        _ container: ProcessContainer, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let watching = Task {
            for await _ in signals { container.stop() }
        }
        defer { watching.cancel() }
        return try await body()
    }

    // MARK: - What is shown

    private func present(_ selection: VectorSelection, _ console: Console) throws {
        let entries =
            selection.files.map {
                TestVectorSuite.Entry($0, file: nil, password: TestVectorSuite.usualPassword)
            }
            + (only.isEmpty && skip.isEmpty ? ServiceVector.all : selection.services).map(\.entry)
        try console.present(
            VectorsDocument(version: TestVectorSuite.Manifest.currentVersion, vectors: entries)
        ) {
            var table = Table(
                "VECTOR", .init("GROUPS", leaves: 1), .init(claims.rawValue.uppercased()),
                .init("WHAT IT IS", .wraps(30)))
            for entry in entries {
                table.append(
                    entry.name, entry.groups.map(\.rawValue).joined(separator: ","),
                    entry.expected[claims].text,
                    entry.summary)
            }
            try console.table(table)
        }
    }

    private func show(_ report: ConformanceReport, _ console: Console) throws {
        var table = Table(
            "VERDICT", "VECTOR", .init("EXPECTED", leaves: 3), .init("SEEN", .wraps(20), leaves: 2),
            .init("SECONDS", leaves: 1), .init("WHAT IT IS", .wraps(24), leaves: 4))
        for result in report.worstFirst where console.verbosity == .verbose || result.verdict != .pass {
            table.append(
                result.verdict.rawValue, result.name, result.expected.text, result.seen,
                result.seconds.formatted(.number.precision(.fractionLength(2))), result.description)
        }
        try console.table(table)
        try console.data(report.summaryText)
    }

    private func write(_ report: ConformanceReport, from vectors: String, _ console: Console) throws {
        let now = clock.now
        let pages: [(path: String?, text: () -> String)] = [
            (junit, { report.junit }),
            (
                html,
                {
                    report.html(date: now) { result in
                        result.file.flatMap {
                            try? [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(vectors)/\($0)")))
                        }
                    }
                }
            ),
        ]
        var first: CommandFailure?
        for case (let path?, let text) in pages {
            do {
                try OutputFile.write(Array(text().utf8), to: path)
                console.note("wrote \(path)")
            } catch {
                let failure = CommandFailure(
                    .cannotCreate, "cannot write the report: \(error.reason)",
                    hint: "name another file for it")
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

/// Exit codes that an option lists with commas between them.
struct ExitCodes: Sendable {
    let codes: Set<Int32>

    init(_ text: String) throws {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Int32($0) }
        guard !parts.contains(nil), parts.allSatisfy({ (1...255).contains($0 ?? 0) }) else {
            throw ValidationError(
                "\u{201C}\(text)\u{201D} is no list of exit codes from 1 to 255, such as 1,2")
        }
        codes = Set(parts.compactMap(\.self))
    }
}

/// How a consumer reports.
enum ReportForm: String, ExpressibleByArgument { case json }

/// The profiles that test vectors can be made under.
enum VectorProfile: String, ExpressibleByArgument, CaseIterable {
    case modern, compatible, pbmac1
    case purebredSample = "purebred-sample"

    var name: PKCS12Profile.Name {
        switch self {
        case .modern: .modern
        case .compatible: .compatible
        case .pbmac1: .pbmac1
        case .purebredSample: .purebredSample
        }
    }
}

extension TestVectorClaim: ExpressibleByArgument {}
