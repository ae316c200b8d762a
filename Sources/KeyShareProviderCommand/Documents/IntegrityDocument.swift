internal import CommandSupport
internal import KeyShareProvider

/// The JSON document of `check`.
package struct IntegrityDocument: Codable, Sendable {
    /// A problem that was found.
    package struct Problem: Codable, Sendable {
        /// The location of the problem: the device, the keychain's tables, or a record.
        package let kind: String
        /// The label of the record; nil if the problem does not concern a record.
        package let label: String?
        /// The problem as a sentence.
        package let message: String

        /// Creates a problem.
        package init(kind: String, label: String?, message: String) {
            self.kind = kind
            self.label = label
            self.message = message
        }
    }

    /// The number of identities in the keychain, without authorities.
    package let identities: Int
    /// The number of authorities of test PKIs in the keychain.
    package let authorities: Int
    /// The problems in the order of discovery.
    package let problems: [Problem]

    /// Creates the result of a check.
    package init(identities: Int, authorities: Int, problems: [Problem]) {
        self.identities = identities
        self.authorities = authorities
        self.problems = problems
    }
}

extension IntegrityDocument {
    /// Creates the document for a check of the provider's keychain.
    init(_ report: IntegrityReport) {
        self.init(
            identities: report.identities, authorities: report.authorities,
            problems: report.problems.map {
                Problem(kind: $0.kind.rawValue, label: $0.label, message: $0.reason)
            })
    }
}

extension Console {
    /// Writes problems to standard error, one line each.
    static func problems(_ problems: [IntegrityProblem]) {
        for problem in problems {
            standardError(problem.label.map { "\($0): \(problem.reason)" } ?? problem.reason)
        }
    }
}
