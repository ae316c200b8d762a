package import CertificateLint

/// One finding of `inspect`, in JSON and as a line of text.
package struct FindingDocument: Codable, Sendable, Equatable {
    /// The stable name of the rule (docs/inspect.md).
    package let code: String
    /// One of `error`, `warning` and `notice`.
    package let severity: String
    /// The finding as a sentence.
    package let message: String
    /// The standard and section that state the rule.
    package let rule: String

    /// Creates the document of a finding by the linter.
    package init(_ finding: LintFinding) {
        code = finding.code
        severity = finding.severity.rawValue
        message = finding.message
        rule = finding.rule
    }

    /// The finding on one line.
    package var text: String {
        let padding = String(repeating: " ", count: max(0, 7 - severity.count))
        return "\(severity)\(padding)  \(code)  \(message) (\(rule))"
    }
}

extension Console {
    /// Writes findings, one a line, after an empty line. Writes nothing if there are none.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    package func findings(_ findings: [FindingDocument], indent: Int = 2) throws(CommandFailure) {
        for finding in findings { try paragraph(finding.text, indent: indent) }
    }
}
