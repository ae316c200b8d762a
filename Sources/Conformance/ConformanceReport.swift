package import TestCredentials

/// What a consumer made of test vectors: the JSON document of a run.
package struct ConformanceReport: Sendable, Codable {
    /// What the consumer made of one test vector.
    package struct Result: Sendable, Codable {
        /// The name of the test vector.
        package let name: String
        /// The groups of the test vector.
        package let groups: [TestVectorGroup]
        /// One sentence about what the test vector is.
        package let description: String
        /// What a correct consumer makes of it.
        package let expected: TestVectorOutcome
        /// Why.
        package let why: String
        /// What the consumer made of it.
        package let verdict: Verdict
        /// What was seen that led to the verdict, as a phrase.
        package let seen: String
        /// The exit code; nil where a signal ended the consumer, or it was not run.
        package let exitCode: Int32?
        /// The signal that ended the consumer by itself; nil where none did.
        package let signal: Int32?
        /// From start to end, in seconds.
        package let seconds: Double
        /// The end of what it wrote to standard error.
        package let stderr: String
        /// The name of the file that it was given; nil for a test vector of the service.
        package let file: String?
        /// What a correct consumer does, as a predicate.
        package let behaviour: String

        /// A result by its parts.
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
    /// What it claims to check.
    package let claims: TestVectorClaim
    /// The results, in the order of the test vectors.
    package let results: [Result]
    /// How often there is each verdict.
    package let summary: [String: Int]

    /// A report of results.
    package init(consumer: [String], claims: TestVectorClaim, results: [Result]) {
        self.consumer = consumer
        self.claims = claims
        self.results = results
        summary = Dictionary(results.map { ($0.verdict.rawValue, 1) }, uniquingKeysWith: +)
    }

    /// Whether every verdict is a pass.
    package var isPassed: Bool { results.allSatisfy { $0.verdict == .pass } }

    /// The results with the worst verdicts first.
    package var worstFirst: [Result] {
        results.enumerated().sorted {
            ($0.element.verdict.rank, $0.offset) < ($1.element.verdict.rank, $1.offset)
        }
        .map(\.element)
    }

    /// The number of test vectors and of each verdict, as a phrase, the passes first.
    package var summaryText: String {
        let counts = Verdict.allCases.reversed().compactMap { verdict in
            summary[verdict.rawValue].map { "\($0) \(verdict.rawValue)" }
        }
        return "\(results.count) test vectors: " + (counts.isEmpty ? "none" : counts.joined(separator: ", "))
    }
}

extension TestVectorOutcome {
    /// The outcome in a few words.
    package var text: String {
        switch answer {
        case .accept: identities.map { $0 == 1 ? "accept" : "accept \($0)" } ?? "accept"
        case .acceptSome: "accept \(identities ?? 0) of \(of ?? 0)"
        case .refuse: "refuse"
        }
    }
}
