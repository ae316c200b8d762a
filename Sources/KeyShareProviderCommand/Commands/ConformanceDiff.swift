import ArgumentParser
import CommandSupport
import Conformance
import Diagnostics
import Foundation
import TestVectors

struct ConformanceDiff: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare the reports of two runs.",
        discussion: """
            The files are documents of conformance --json. The output lists the test vectors whose verdicts are worse \
            or better in the second run, and those that only one run contains. The exit code is 7 if a verdict is \
            worse, and 0 otherwise.

            EXAMPLE:
              keyshare-provider conformance diff old.json new.json
            """)

    @Argument(
        help: ArgumentHelp("The report of the first run, or - for standard input.", valueName: "old"),
        completion: .file(extensions: ["json"]))
    var old: String

    @Argument(
        help: ArgumentHelp("The report of the second run.", valueName: "new"),
        completion: .file(extensions: ["json"]))
    var new: String

    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let (first, second) = (try Self.report(old), try Self.report(new))
        if first.claims != second.claims {
            console.note(
                "the runs have different claims, \(first.claims.rawValue) and \(second.claims.rawValue), "
                    + "so their verdicts are not comparable")
        }
        let comparison = VerdictComparison(first, second)
        try console.present(comparison) {
            var table = Table("CHANGE", "VECTOR", "BEFORE", "AFTER")
            let kinds = [
                ("worse", comparison.worse), ("better", comparison.better), ("new", comparison.new),
                ("gone", comparison.gone),
            ]
            for (kind, changes) in kinds {
                for change in changes {
                    table.append(
                        kind, change.name, change.before?.rawValue ?? "-", change.after?.rawValue ?? "-")
                }
            }
            if kinds.contains(where: { !$0.1.isEmpty }) { try console.table(table) }
            try console.data(comparison.summaryText)
        }
        guard !comparison.worse.isEmpty else { return }
        let failure = CommandFailure(
            .notConformant,
            counted(comparison.worse.count, "test vector is", "test vectors are") + " worse than before",
            hint: "to see what the consumer prints: keyshare-provider conformance --only NAME -- CMD")
        Console.failure(failure)
        throw failure.reported
    }

    /// Reads a report.
    ///
    /// - Throws: `CommandFailure`: 74 if the file cannot be read, 10 if it is larger than 16 MiB, 5 if it is not a
    ///   report.
    private static func report(_ path: String) throws(CommandFailure) -> ConformanceReport {
        // Decoding takes about 25 times the memory. Baselines have the same limit.
        let bytes = try InputFile.read(path, limit: 16 << 20)
        guard CombiningMarks.areFew(inJSON: bytes),
            let report = try? JSONDecoder().decode(ConformanceReport.self, from: Data(bytes))
        else {
            throw CommandFailure(
                .malformed, "\(path) is not a report of conformance --json",
                hint: "write one with keyshare-provider conformance --json")
        }
        return report
    }
}
