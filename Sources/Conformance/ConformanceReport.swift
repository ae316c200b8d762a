internal import Diagnostics
package import TestVectors

/// The results of a consumer on test vectors: the JSON document of a run.
package struct ConformanceReport: Sendable, Codable {
    /// The result of one test vector.
    package struct Result: Sendable, Codable {
        /// The name of the test vector.
        package let name: String
        /// The groups that contain the test vector, which `--only` also accepts.
        package let groups: [TestVectorGroup]
        /// One sentence that describes the test vector.
        package let description: String
        /// The correct outcome.
        package let expected: TestVectorOutcome
        /// The reason for the correct outcome.
        package let why: String
        /// The verdict on the consumer's behaviour.
        package let verdict: Verdict
        /// The observation that led to the verdict, as a phrase.
        package let seen: String
        /// The exit code. Nil if a signal ended the consumer, or if it was not run.
        package let exitCode: Int32?
        /// The signal that ended the consumer, or nil. Signals sent by this program do not count.
        package let signal: Int32?
        /// The run time, in seconds.
        package let seconds: Double
        /// The consumer's standard error; the first line and the end if it is long.
        package let stderr: String
        /// The name of the input file. Nil for a test vector of the service.
        package let file: String?
        /// The behaviour of a correct consumer, as a verb phrase.
        package let behaviour: String
        /// The known deviation of the baseline, or nil.
        package var baseline: Baseline.Deviation?

        /// Creates a result.
        package init(
            name: String, groups: [TestVectorGroup], description: String, expected: TestVectorOutcome,
            why: String,
            verdict: Verdict, seen: String, exitCode: Int32?, signal: Int32?, seconds: Double, stderr: String,
            file: String?, behaviour: String
        ) {
            self.name = name
            self.groups = groups
            self.description = description
            self.expected = expected
            self.why = why
            self.verdict = verdict
            self.seen = seen
            self.exitCode = exitCode
            self.signal = signal
            self.seconds = seconds
            self.stderr = stderr
            self.file = file
            self.behaviour = behaviour
        }
    }

    /// The command of the consumer, with its placeholders.
    package let consumer: [String]
    /// The checks that the consumer claims to make.
    package let claims: TestVectorClaim
    /// The results, in the order of the test vectors.
    package internal(set) var results: [Result]
    /// The number of test vectors for each verdict.
    package let summary: [String: Int]
    /// The comparison with the baseline. Nil if the run has no baseline.
    package internal(set) var baseline: BaselineSummary?

    /// Creates a report from results.
    package init(consumer: [String], claims: TestVectorClaim, results: [Result]) {
        self.consumer = consumer
        self.claims = claims
        self.results = results
        summary = Dictionary(results.map { ($0.verdict.rawValue, 1) }, uniquingKeysWith: +)
    }

    /// Whether every verdict is a pass or a known deviation.
    package var isPassed: Bool { results.allSatisfy { $0.verdict == .pass || $0.isKnown } }

    /// The results with the worst verdicts first. Passes come last, after the known deviations.
    package var worstFirst: [Result] {
        func place(_ result: Result) -> Int { result.verdict == .pass ? 2 : result.isKnown ? 1 : 0 }
        return results.enumerated().sorted {
            (place($0.element), $0.element.verdict.rank, $0.offset)
                < (place($1.element), $1.element.verdict.rank, $1.offset)
        }
        .map(\.element)
    }

    /// The number of test vectors, followed by the number for each verdict, the passes first.
    package var summaryText: String {
        let counts = Verdict.allCases.reversed().compactMap { verdict in
            summary[verdict.rawValue].map { "\($0) \(verdict.rawValue)" }
        }
        return counted(results.count, "test vector", "test vectors") + ": "
            + (counts.isEmpty ? "none" : counts.joined(separator: ", "))
            + (baseline.map { "; \($0.known) known, \($0.better.count) better, \($0.worse.count) worse" }
                ?? "")
    }
}

extension TestVectorOutcome {
    /// The outcome in a few words.
    package var text: String {
        switch answer {
        case .accept: identities.map { $0 == 1 ? "accept" : "accept \($0)" } ?? "accept"
        case .acceptSome: "accept \(identities ?? 0) of \(of ?? 0)"
        case .refuse: "refuse"
        case .either: "accept or refuse"
        }
    }
}
