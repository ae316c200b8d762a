import Diagnostics

/// A property that breaks a rule or deserves attention, of a certificate, a key, a revocation list, a status response
/// or a configuration profile.
package struct LintFinding: Sendable, Hashable {
    /// How serious a finding is.
    package enum Severity: String, Sendable, Hashable, CaseIterable {
        /// The object breaks a requirement of a standard.
        case error
        /// The object breaks a recommendation, or uses something that is obsolete.
        case warning
        /// The object breaks no rule, but the finding is worth knowing.
        case notice
    }

    /// The stable name of the rule, for scripts.
    package let code: String
    /// The severity of the rule.
    package let severity: Severity
    /// One sentence, without a full stop, that describes the finding and includes the offending values.
    package let message: String
    /// The standard and section that state the rule, such as `RFC 5280 4.1.2.2`.
    package let rule: String
}

/// One rule: its name, severity, source and check.
struct LintRule<Subject: Sendable>: Sendable {
    /// The stable name of the rule.
    let code: String
    let severity: LintFinding.Severity
    /// The standard and section that state the rule.
    let reference: String
    /// The meaning of a finding, for the table of codes.
    let meaning: String
    /// Returns one message for each finding; empty if the subject complies.
    let check: @Sendable (Subject) -> [String]

    /// Creates a rule that one subject can break several times.
    init(
        _ code: String, _ severity: LintFinding.Severity, _ reference: String, _ meaning: String,
        each check: @escaping @Sendable (Subject) -> [String]
    ) {
        self.code = code
        self.severity = severity
        self.reference = reference
        self.meaning = meaning
        self.check = check
    }

    /// Creates a rule that is broken if the condition is true. The finding's message is `meaning`.
    init(
        _ code: String, _ severity: LintFinding.Severity, _ reference: String, _ meaning: String,
        if condition: @escaping @Sendable (Subject) -> Bool
    ) {
        self.init(code, severity, reference, meaning, each: { condition($0) ? [meaning] : [] })
    }

    /// Creates a rule whose check returns the finding's message, or nil if the subject complies.
    init(
        _ code: String, _ severity: LintFinding.Severity, _ reference: String, _ meaning: String,
        message: @escaping @Sendable (Subject) -> String?
    ) {
        self.init(code, severity, reference, meaning, each: { message($0).map { [$0] } ?? [] })
    }

    /// Checks a subject. Returns at most `mostFindings` findings.
    func findings(_ subject: Subject) -> [LintFinding] {
        let messages = check(subject)
        return messages.prefix(Self.mostFindings).map {
            LintFinding(code: code, severity: severity, message: $0.visible, rule: reference)
        }
    }

    /// The maximum number of findings of one rule about one object, so that a hostile file produces a short report.
    static var mostFindings: Int { 8 }
}

extension [LintRule<LintedCertificate>] {
    /// Checks a certificate against all rules of the array.
    func findings(_ subject: LintedCertificate) -> [LintFinding] { flatMap { $0.findings(subject) } }
}
