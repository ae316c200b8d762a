extension ConformanceReport {
    /// The comparison of a run with its baseline.
    package struct BaselineSummary: Sendable, Hashable, Codable {
        /// The number of deviations whose verdicts are in the baseline, or are better than there but not `pass`.
        package let known: Int
        /// The test vectors whose verdicts are better than in the baseline.
        package let better: [String]
        /// The test vectors whose verdicts are worse than in the baseline, or are missing from it and do not pass.
        package let worse: [String]
        /// The entries of the baseline whose test vectors no longer exist.
        package let gone: [String]
    }

    /// The report with the deviations of a baseline marked as known.
    ///
    /// - Parameters:
    ///   - baseline: The known deviations.
    ///   - existing: The names of all test vectors, including those that this run skipped.
    package func compared(with baseline: Baseline, existing: Set<String>) -> ConformanceReport {
        var report = self
        report.results = results.map { result in
            var result = result
            result.baseline = baseline.deviations[result.name]
            return result
        }
        report.baseline = BaselineSummary(
            known: report.results.count(where: \.isKnown),
            better: report.results.filter(\.isBetter).map(\.name),
            worse: report.results.filter(\.isWorse).map(\.name),
            gone: baseline.deviations.keys.filter { !existing.contains($0) }.sorted())
        return report
    }
}

extension ConformanceReport.Result {
    /// Whether the verdict is a known deviation: the baseline contains the same verdict or a worse one for this test
    /// vector.
    package var isKnown: Bool {
        verdict != .pass && verdict != .notRun && baseline.map { verdict.rank >= $0.verdict.rank } ?? false
    }

    /// Whether the verdict is better than in the baseline.
    package var isBetter: Bool {
        verdict != .notRun && baseline.map { verdict.rank > $0.verdict.rank } ?? false
    }

    /// Whether the verdict is a deviation that is missing from the baseline, or is worse than there.
    package var isWorse: Bool { verdict != .pass && verdict != .notRun && !isKnown }

    /// The first line of the consumer's standard error that is not blank, shortened to 200 characters. Nil if every
    /// line is blank.
    package var firstLineOfErrors: String? {
        let lines = stderr.split(whereSeparator: \.isNewline)
        guard let line = lines.first(where: { !$0.allSatisfy(\.isWhitespace) }) else { return nil }
        return line.count <= 200 ? String(line) : line.prefix(199) + "\u{2026}"
    }
}
