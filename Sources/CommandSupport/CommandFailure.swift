/// Why a command fails: what happened, what to do about it, and the exit code; equal by status and code.
package struct CommandFailure: Error, Equatable, Sendable {
    package let status: ExitStatus
    /// A stable name for scripts, such as `wrong-password`.
    package let code: String
    /// What happened, as a phrase that goes after the command's name.
    package let message: String
    /// What to do, as a phrase; nil where nothing can be advised.
    package let hint: String?

    /// - Parameter hint: what to do about this very failure; nil for what is usual for its status.
    package init(_ status: ExitStatus, code: String? = nil, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code ?? status.name
        self.message = message
        self.hint = hint ?? status.usualHint
    }

    package static func == (left: CommandFailure, right: CommandFailure) -> Bool {
        left.status == right.status && left.code == right.code
    }
}

/// An error that knows how a command reports it.
package protocol CommandReportable: Error {
    /// The failure as the command line shows it.
    var commandFailure: CommandFailure { get }
}

extension CommandFailure: CommandReportable {
    /// Itself.
    package var commandFailure: CommandFailure { self }
}

extension CommandFailure {
    /// Any error as a command reports it; one that nobody expected is a bug and says so.
    package init(_ error: any Error) {
        if let reportable = error as? any CommandReportable {
            self = reportable.commandFailure
        } else {
            self.init(.unexpected, "unexpected error: \(error)")
        }
    }
}
