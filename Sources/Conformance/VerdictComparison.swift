/// The differences between the reports of two runs.
package struct VerdictComparison: Sendable, Hashable, Codable {
    /// A test vector whose verdict differs between the two runs.
    package struct Change: Sendable, Hashable, Codable {
        /// The name of the test vector.
        package let name: String
        /// The verdict of the first run. Nil if only the second run contains the test vector.
        package let before: Verdict?
        /// The verdict of the second run. Nil if only the first run contains the test vector.
        package let after: Verdict?
    }

    /// The test vectors whose verdicts are worse in the second run.
    package let worse: [Change]
    /// The test vectors whose verdicts are better in the second run.
    package let better: [Change]
    /// The test vectors that only the second run contains.
    package let new: [Change]
    /// The test vectors that only the first run contains.
    package let gone: [Change]
    /// The number of test vectors with the same verdict in both runs.
    package let same: Int

    /// Compares two reports. A test vector that a run did not reach counts as missing from it.
    package init(_ first: ConformanceReport, _ second: ConformanceReport) {
        func verdicts(_ report: ConformanceReport) -> [String: Verdict] {
            let run = report.results.filter { $0.verdict != .notRun }
            return Dictionary(run.map { ($0.name, $0.verdict) }) { first, _ in first }
        }
        let (old, recent) = (verdicts(first), verdicts(second))
        let changes = Set(old.keys).union(recent.keys).sorted().map {
            Change(name: $0, before: old[$0], after: recent[$0])
        }
        worse = changes.filter { change in change.step.map { $0 < 0 } ?? false }
        better = changes.filter { change in change.step.map { $0 > 0 } ?? false }
        new = changes.filter { $0.before == nil }
        gone = changes.filter { $0.after == nil }
        same = changes.count { $0.step == 0 }
    }

    /// The number of test vectors for each kind of change.
    package var summaryText: String {
        let counts = [(same, "unchanged"), (better.count, "better"), (worse.count, "worse")]
        let others = [(new.count, "new"), (gone.count, "gone")]
        return (counts + others.filter { $0.0 > 0 }).map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }
}

extension VerdictComparison.Change {
    /// The change in rank: negative if the second verdict is worse, positive if it is better. Nil if a verdict is
    /// missing.
    fileprivate var step: Int? {
        guard let before, let after else { return nil }
        return after.rank - before.rank
    }
}
