import CommandSupport
import Conformance
import Foundation

/// The text output of a conformance run: a table, the reasons for the expectations, the errors of the consumer, and the
/// comparison with the baseline.
struct ConformanceText {
    let report: ConformanceReport
    /// Whether the run also writes a baseline.
    let isRecorded: Bool

    /// Prints the report. With `--verbose` the table also contains the test vectors that pass.
    func show(on console: Console) throws(CommandFailure) {
        var table = Table(
            "VERDICT", "VECTOR", .init("EXPECTED", leaves: 3), .init("SEEN", .wraps(20), leaves: 2),
            .init("SECONDS", leaves: 1), .init("DESCRIPTION", .wraps(24), leaves: 4))
        for result in report.worstFirst where console.verbosity == .verbose || result.verdict != .pass {
            table.append(
                result.verdict.rawValue + (result.isKnown ? " (known)" : ""), result.name,
                result.expected.text,
                result.seen, result.seconds.formatted(.number.precision(.fractionLength(2))),
                result.description)
        }
        try console.table(table)
        let failed = report.worstFirst.filter { $0.verdict != .pass }
        try list("EXPECTED BECAUSE", failed.map { ($0.name, $0.why) }, on: console)
        try list(
            "FIRST LINE OF STANDARD ERROR", failed.map { ($0.name, $0.firstLineOfErrors) }, on: console)
        try list(
            "KNOWN BECAUSE", failed.map { ($0.name, $0.isKnown ? $0.baseline?.reason : nil) }, on: console)
        let changes = report.results.filter(\.isBetter).map { result in
            (result.name, result.baseline.map { "\(result.verdict.rawValue), was \($0.verdict.rawValue)" })
        }
        try list("BETTER THAN THE BASELINE", changes, on: console)
        try console.data(report.summaryText)
        guard let baseline = report.baseline else { return }
        for name in baseline.gone { console.note("\(name) is in the baseline, but is not a test vector") }
        if !isRecorded, !baseline.better.isEmpty || !baseline.gone.isEmpty {
            console.note("to record this: run the command again with --write-baseline FILE")
        }
    }

    /// Prints a table of the rows, except those without text. Prints nothing if no row remains.
    private func list(
        _ heading: String, _ rows: [(name: String, text: String?)], on console: Console
    ) throws(CommandFailure) {
        var table = Table("VECTOR", .init(heading, .wraps(30)))
        var isEmpty = true
        for case (let name, let text?) in rows {
            table.append(name, text)
            isEmpty = false
        }
        if !isEmpty { try console.table(table) }
    }
}
