import CommandSupport
import Conformance
import Diagnostics
import Foundation
import OpenSSL
import PrivateFiles
import TestVectors

// The fuzzer: `conformance --fuzz`.
extension ConformanceCommand {
    /// The file that contains the report of the findings.
    private static let findingsName = "findings.json"

    /// Tests the consumer, or this package's reader, with mutated files.
    ///
    /// - Throws: `CommandFailure`: 7 if there are findings, 64 if the consumer cannot be run, 73 if the findings cannot
    ///   be written.
    func fuzz(_ amount: FuzzAmount, _ console: Console) async throws {
        let (seed, date) = (seeding.seed ?? .random(in: .min ... .max), date)
        let template = consumer.isEmpty ? nil : try template(needsFile: true)
        let target = fuzzing.folder.map { VectorFolder(path: $0, option: "-o", replaces: nil) }
        try target?.prepare(for: [TestVectorSuite.manifestName, Self.findingsName])
        let material = try MutationMaterial(try vectors.settings(seed: seed, at: date))
        let folder = FileManager.default.temporaryDirectory.path + "/keyshare-" + UUID().uuidString.prefix(13)
        try PrivateFolder.make(folder)
        defer { Self.remove(folder, console) }
        let container = ProcessContainer()
        let reader: any FuzzTarget =
            try template.map { try CommandTarget(conformanceRun($0, container), material, in: folder) }
            ?? OwnReader()
        let run = FuzzRun(
            reader, seeds: material.seeds, claim: claims, randomSeed: seed,
            width: jobs ?? ProcessInfo.processInfo.activeProcessorCount)
        let clock = ContinuousClock()
        let start = clock.now
        let result = try await withSignals(container) {
            try await run.result(files: amount.files) {
                container.wasStopped || amount.time.map { clock.now - start >= $0 } ?? false
            } progress: {
                console.progress("\(counted($0, "file", "files")), \(counted($1, "finding", "findings"))")
            }
        }
        console.progress(nil)
        try end(try report(of: result), seed: seed, date: date, material, target, console)
    }

    private func report(of result: FuzzResult) throws(CommandFailure) -> FuzzReport {
        switch result {
        case .report(let report): return report
        case .unusable(let consumer):
            for line in consumer.stderr.split(separator: "\n") { Console.standardError(String(line)) }
            throw CommandFailure(
                .usage, "nothing was judged: the consumer \(consumer.reason)",
                hint: "correct the command after --, and test it with --only signature-modern")
        }
    }

    /// Writes and prints the findings, and ends the command with their exit code.
    private func end(
        _ report: FuzzReport, seed: UInt64, date: Date, _ material: MutationMaterial, _ target: VectorFolder?,
        _ console: Console
    ) throws {
        var report = report
        if let target, !report.findings.isEmpty {
            report.findings = report.findings.map { finding in
                var finding = finding
                finding.command = command(finding, in: target.path)
                return finding
            }
            try target.write(try files(of: report, date: date, material))
        }
        try console.present(report) { try show(report, on: console) }
        guard !report.findings.isEmpty else { return }
        let failure = CommandFailure(
            .notConformant,
            counted(report.findings.count, "finding", "findings") + " in "
                + counted(report.files, "mutated file", "mutated files"),
            hint: target.map { "\($0.path)/findings.json contains a command for each finding" }
                ?? "to write the files: add --seed \(seed) --at \(date.formatted(.iso8601)) -o findings")
        Console.failure(failure)
        throw failure.reported
    }

    private func show(_ report: FuzzReport, on console: Console) throws(CommandFailure) {
        if !report.rejectedSeeds.isEmpty {
            console.note(
                "the consumer rejects these valid files: " + report.rejectedSeeds.joined(separator: ", "))
        }
        var table = Table(
            "OUTCOME", .init("MUTATIONS", .wraps(20)), "FILES", .init("SEEN", .wraps(20), leaves: 1),
            .init("OURS", .wraps(24), leaves: 2))
        for finding in report.worstFirst {
            table.append(
                finding.outcome.rawValue, finding.mutations.joined(separator: ", "), String(finding.count),
                finding.seen, finding.ours)
        }
        if !report.findings.isEmpty { try console.table(table) }
        try console.data(
            "\(counted(report.files, "mutated file", "mutated files")), "
                + counted(report.findings.count, "finding", "findings"))
    }

    // MARK: - The folder of findings

    /// The command that shows a finding. Run it in the folder in which the fuzzer ran.
    private func command(_ finding: FuzzReport.Finding, in folder: String) -> String {
        let stem = "\(folder)/\(finding.name)"
        guard !consumer.isEmpty else {
            return "keyshare-consumer inspect \(stem).p12 --password-file \(stem).password"
        }
        let values = [
            "{file}": "\(stem).p12", "{password-file}": "\(stem).password", "{password}": finding.password,
            "{trust}": "\(folder)/trust.pem", "{crl}": "\(folder)/revocations.pem", "{out}": "\(stem).out",
        ]
        return consumer.map { word in
            values.reduce(word) { $0.replacing($1.key, with: $1.value) }.quotedForShell
        }.joined(separator: " ")
    }

    /// The files of the findings: each file with its password, the manifest, and the report.
    private func files(
        of report: FuzzReport, date: Date, _ material: MutationMaterial
    ) throws -> [(name: String, bytes: [UInt8])] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let manifest = TestVectorSuite.Manifest(
            date: date.formatted(.iso8601), trust: "trust.pem", revocations: "revocations.pem",
            vectors: report.findings.map(TestVectorSuite.Entry.init))
        var files: [(name: String, bytes: [UInt8])] = [
            ("trust.pem", Array(material.trust.utf8)), ("revocations.pem", Array(material.revocations.utf8)),
            (TestVectorSuite.manifestName, Array(try encoder.encode(manifest)) + [0x0A]),
            (Self.findingsName, Array(try encoder.encode(report)) + [0x0A]),
        ]
        for finding in report.findings {
            files.append(("\(finding.name).p12", Array(finding.file)))
            files.append(("\(finding.name).password", Array((finding.password + "\n").utf8)))
        }
        return files
    }
}

extension TestVectorSuite.Entry {
    /// The test vector of a finding.
    fileprivate init(_ finding: FuzzReport.Finding) {
        let outcome: TestVectorOutcome =
            switch finding.outcome {
            case .refusesGood, .otherIdentities: TestVectorOutcome(.accept)
            case .acceptsBad: .refuse
            case .crash, .hang, .memory: TestVectorOutcome(.either)
            }
        let changes = finding.changes.joined(separator: ", and ")
        self.init(
            name: finding.name, groups: [.faults], file: finding.name + ".p12", password: finding.password,
            summary: "A valid file after a mutation that \(changes).",
            expectedBehaviour: outcome.answer == .accept
                ? "imports it" : "rejects it, and neither hangs nor crashes",
            reason: "This package\u{2019}s reader \(finding.ours).", expected: Outcomes { _ in outcome },
            mayBlamePassword: outcome.answer != .accept)
    }
}

extension FuzzAmount {
    fileprivate var files: Int? { if case .files(let count) = self { count } else { nil } }
    fileprivate var time: Duration? { if case .time(let time) = self { time } else { nil } }
}
