/// Why a command fails: what happened, what to do about it, and the exit code; equal by status and code.
package struct CommandFailure: Error, Equatable, Sendable {
    /// The exit code.
    package let status: ExitStatus
    /// A stable name for scripts, such as `wrong-password`.
    package let code: String
    /// What happened, as a phrase that goes after the command's name.
    package let message: String
    /// What to do, as a phrase; nil where nothing can be advised.
    package let hint: String?
    /// Whether the user has been told of the failure already, so that only its exit code is left to give.
    package private(set) var isReported = false

    /// A failure by its parts.
    ///
    /// - Parameters:
    ///   - code: the stable name; nil for the name of `status`.
    ///   - hint: what to do about this very failure; nil for what usually helps with `status`.
    package init(_ status: ExitStatus, code: String? = nil, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code ?? status.name
        self.message = message
        self.hint = hint ?? status.usualHint
    }

    package static func == (left: CommandFailure, right: CommandFailure) -> Bool {
        left.status == right.status && left.code == right.code
    }

    /// This failure once the user has been told of it.
    package var reported: CommandFailure {
        var failure = self
        failure.isReported = true
        return failure
    }

    /// This failure with the name of the file, item or channel that it is about before its message.
    package func about(_ subject: String) -> CommandFailure {
        CommandFailure(status, code: code, "\(subject): \(message)", hint: hint)
    }

    /// This failure with other advice.
    package func advising(_ hint: String) -> CommandFailure {
        CommandFailure(status, code: code, message, hint: hint)
    }
}

/// An error that knows how a command reports it.
package protocol CommandReportable: Error {
    /// The failure as the command line shows it.
    var commandFailure: CommandFailure { get }
}

extension CommandFailure: CommandReportable {
    /// This failure, which is what the command line shows already.
    package var commandFailure: CommandFailure { self }
}

extension CommandFailure {
    /// Any error as a command reports it. An error that has no mapping is a bug, and the failure says so.
    package init(_ error: any Error) {
        if let reportable = error as? any CommandReportable {
            self = reportable.commandFailure
        } else {
            self.init(.unexpected, "unexpected error: \(error)")
        }
    }
}
