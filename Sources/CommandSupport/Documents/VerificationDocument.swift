/// The JSON document of `verify`.
package struct VerificationDocument: Codable, Sendable {
    /// One check of an identity.
    package struct Check: Codable, Sendable {
        /// The name of the check.
        package let check: String
        /// What came of the check: `pass`, `fail` or `not checked`.
        package let outcome: String
        /// The outcome as a phrase.
        package let explanation: String

        /// A check by its parts.
        package init(check: String, outcome: String, explanation: String) {
            self.check = check
            self.outcome = outcome
            self.explanation = explanation
        }
    }

    /// The checks of one identity.
    package struct Result: Codable, Sendable {
        /// The label of the identity.
        package let label: String
        /// The credential type under the rules of 2025.
        package let type: String
        /// The serial number in hexadecimal digits.
        package let serial: String
        /// Whether every check that matters passed.
        package let valid: Bool
        /// The checks in the order in which they were made.
        package let checks: [Check]

        /// A result by its parts.
        package init(label: String, type: String, serial: String, valid: Bool, checks: [Check]) {
            self.label = label
            self.type = type
            self.serial = serial
            self.valid = valid
            self.checks = checks
        }
    }

    /// A file or a label, or a part of a file, that gave nothing to check.
    package struct Failure: Codable, Sendable {
        /// The file or the label as it was named on the command line.
        package let item: String
        /// Why there is nothing to check.
        package let error: FailureDocument.Body

        /// A failure by its parts.
        package init(item: String, failure: CommandFailure) {
            self.item = item
            error = FailureDocument.Body(failure)
        }
    }

    /// The identities that were checked.
    package let results: [Result]
    /// The files and labels, or parts of files, that gave nothing to check; left out where there is none.
    package let failures: [Failure]?

    /// The results and failures of a run.
    package init(results: [Result], failures: [Failure]) {
        self.results = results
        self.failures = failures.isEmpty ? nil : failures
    }
}
