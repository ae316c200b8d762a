import ArgumentParser
import CommandSupport
import Conformance
import Diagnostics
import Foundation
import PrivateFiles
import TestVectors

/// The options for the known deviations of a consumer.
struct BaselineOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The known deviations: the exit code is 0 if no test vector is worse.", valueName: "file"),
        completion: .file())
    var baseline: String?

    @Option(
        help: ArgumentHelp(
            "Write the deviations of this run to a file, and keep the reasons in it.", valueName: "file"),
        completion: .file())
    var writeBaseline: String?

    /// Whether an option is given.
    var isGiven: Bool { baseline != nil || writeBaseline != nil }

    /// Reads the baseline files. Call it before the run, so that an invalid file is reported before the consumer is
    /// tested.
    ///
    /// - Throws: `CommandFailure`: 74 if a file cannot be read, 5 if it is not a baseline, 64 if the baseline is for
    ///   other claims.
    func read(for claims: TestVectorClaim) throws(CommandFailure) -> KnownDeviations {
        var known: Baseline?
        if let baseline {
            let read = try Self.read(baseline)
            guard read.claims == claims else {
                throw CommandFailure(
                    .usage, "\(baseline) was written with --claims \(read.claims.rawValue)",
                    hint:
                        "add --claims \(read.claims.rawValue), or write another baseline with --write-baseline"
                )
            }
            known = read
        }
        guard let writeBaseline else { return KnownDeviations(baseline: known) }
        let isThere = FileManager.default.fileExists(atPath: writeBaseline)
        return KnownDeviations(
            baseline: known, target: writeBaseline, previous: isThere ? try Self.read(writeBaseline) : known)
    }

    private static func read(_ path: String) throws(CommandFailure) -> Baseline {
        switch Baseline.read(try InputFile.read(path, limit: 16 << 20)) {
        case .baseline(let baseline): return baseline
        case .problem(let reason):
            throw CommandFailure(
                .malformed, "\(path) is not a baseline: \(reason)",
                hint: "write one with keyshare-provider conformance --write-baseline")
        }
    }
}

/// The baseline of a run, and the file to write the next one to.
struct KnownDeviations {
    /// The known deviations. Nil without `--baseline`.
    var baseline: Baseline?
    /// The path of `--write-baseline`, or nil.
    var target: String?
    /// The baseline to update: the contents of the target if it exists, otherwise ``baseline``.
    var previous: Baseline?

    /// Returns the report with the known deviations marked.
    func compared(_ report: ConformanceReport) -> ConformanceReport {
        baseline.map { report.compared(with: $0, existing: Set(VectorSelection.vectorNames)) } ?? report
    }

    /// Writes the deviations of a run, atomically. Writes nothing if the run was interrupted.
    ///
    /// - Throws: `CommandFailure` (73) if the file cannot be written.
    func write(_ report: ConformanceReport, _ console: Console) throws(CommandFailure) {
        guard let target else { return }
        guard !report.results.contains(where: { $0.verdict == .notRun }) else {
            console.note("\(target) was not written, because the run was stopped")
            return
        }
        let updated = (previous ?? Baseline(claims: report.claims)).updated(
            by: report, existing: Set(VectorSelection.vectorNames), reasonsOf: baseline)
        do {
            try OutputFile.write(Array(updated.text.utf8), to: target)
        } catch {
            throw CommandFailure(
                .cannotCreate, "cannot write the baseline: \(error.reason)",
                hint: "choose another file for it")
        }
        let count = counted(updated.deviations.count, "known deviation", "known deviations")
        console.note("wrote \(target) with \(count)")
    }
}
