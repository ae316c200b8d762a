package import Diagnostics

/// The meaning of an error code on the command line: an exit code, a stable name and a hint.
package struct FailureMeaning: Sendable {
    /// The exit code for failures with the error code.
    package let status: ExitStatus
    /// The stable name of the failures in JSON.
    package let name: String
    /// The hint, as a phrase; nil if the hint depends on the details of a failure, or if there is none.
    package let hint: String?

    /// Creates a meaning.
    ///
    /// - Parameters:
    ///   - status: The exit code.
    ///   - name: The stable name; nil for the name of `status`.
    ///   - hint: The hint; nil if it depends on the details of a failure, or if there is none.
    package init(_ status: ExitStatus, _ name: String? = nil, hint: String? = nil) {
        self.status = status
        self.name = name ?? status.name
        self.hint = hint
    }
}

/// An error type with an exit code, a stable name and a hint for each of its codes.
package protocol ReportableFailure: Failure {
    /// The codes: one for each case. Associated values are examples.
    static var codes: [Code] { get }

    /// Returns the exit code, the stable name and the hint for an error code.
    static func meaning(of code: Code) -> FailureMeaning

    /// The meanings that depend on more than the code, each with a name for the generated table.
    static var particularMeanings: [(name: String, meaning: FailureMeaning)] { get }

    /// The meaning of this failure if it depends on more than the code; otherwise nil.
    var particularMeaning: FailureMeaning? { get }

    /// The message, as a phrase that follows the name of the command.
    var message: String { get }
    /// The hint for this failure if it depends on more than the code; otherwise nil.
    var particularHint: String? { get }
    /// The underlying failure to report instead of this one, because it is more specific; nil if there is none.
    var reportedCause: (any ReportableFailure)? { get }
    /// The failure in the form that commands print. This is a protocol requirement so that `CommandFailure` can return
    /// itself.
    var commandFailure: CommandFailure { get }
}

extension ReportableFailure {
    /// The default message is the reason, without additions.
    package var message: String { reason }
    /// By default, meanings depend only on the code.
    package static var particularMeanings: [(name: String, meaning: FailureMeaning)] { [] }
    /// Nil by default: most meanings depend only on the code.
    package var particularMeaning: FailureMeaning? { nil }
    /// By default, the hint depends only on the code.
    package var particularHint: String? { nil }
    /// By default, no underlying failure is reported.
    package var reportedCause: (any ReportableFailure)? { nil }

    /// The hint for this failure, as a phrase; nil if only the usual hint of the exit code applies.
    package var hint: String? { particularHint ?? (particularMeaning ?? Self.meaning(of: code)).hint }

    /// The failure in the form that commands print.
    package var commandFailure: CommandFailure {
        if let reportedCause { return reportedCause.commandFailure }
        let meaning = particularMeaning ?? Self.meaning(of: code)
        return CommandFailure(meaning.status, code: meaning.name, message, hint: hint)
    }
}

extension ReportableFailure where Code: CaseIterable {
    /// All codes of the error type.
    package static var codes: [Code] { Array(Code.allCases) }
}
