package import KeyShareProvider

/// The JSON document of `check`.
package struct IntegrityDocument: Codable, Sendable {
    /// One thing that is wrong.
    package struct Problem: Codable, Sendable {
        /// What the problem is about: the device, the keychain's tables, or a record.
        package let kind: String
        /// The label of the record; nil where the problem is not about one.
        package let label: String?
        /// The problem as a sentence.
        package let message: String

        init(_ problem: IntegrityProblem) {
            kind = problem.kind.rawValue
            label = problem.label
            message = problem.reason
        }
    }

    /// How many identities the keychain holds.
    package let identities: Int
    /// The problems in the order in which they were found.
    package let problems: [Problem]

    /// Describes a report.
    package init(_ report: IntegrityReport) {
        identities = report.identities
        problems = report.problems.map(Problem.init)
    }
}

extension Console {
    /// Writes problems to standard error, a line for each.
    package static func problems(_ problems: [IntegrityProblem]) {
        for problem in problems {
            standardError(problem.label.map { "\($0): \(problem.reason)" } ?? problem.reason)
        }
    }
}
