package import Diagnostics

/// Why a command fails: what happened, what to do about it, and the exit code; equal by status and code.
package struct CommandFailure: Failure {
    /// What a command finds by itself, beside what an exit code says; the raw value is the stable name.
    package enum Kind: String, Sendable, CaseIterable {
        /// A file to classify holds no certificate.
        case noCertificate = "no-certificate"
        /// The user did not agree, or could not be asked.
        case notConfirmed = "not-confirmed"
        /// The user could not be asked for the pasteboard.
        case noConsent = "no-consent"
        /// A file is larger than the command takes.
        case tooLarge = "too-large"
        /// A folder to replace holds other things than a command has written.
        case notReplaceable = "not-replaceable"
        /// Items of a backup stayed behind.
        case leftBehind = "left-behind"
        /// An identity of a backup is not sound.
        case unsoundBackup = "unsound-backup"
        /// A consumer under test does not do what it should.
        case notConformant = "not-conformant"
        /// A file cannot be read.
        case unreadable
        /// The keychain or the device is damaged.
        case damaged
        /// A token does not do what is expected of it.
        case tokenSurprise = "token-surprise"

        /// The exit code.
        var status: ExitStatus {
            switch self {
            case .noCertificate: .noSuchItem
            case .notConfirmed, .noConsent, .tooLarge, .notReplaceable, .leftBehind: .refused
            case .unsoundBackup, .notConformant: .validationFailed
            case .unreadable, .damaged: .inputOutput
            case .tokenSurprise: .unexpected
            }
        }
    }

    package static let domain = FailureDomain.command

    /// The exit code.
    package let status: ExitStatus
    /// A stable name for scripts, such as `wrong-password`.
    package let code: String
    /// What happened, as a phrase that goes after the command's name.
    package let reason: String
    /// What to do, as a phrase; nil where nothing can be advised.
    package let hint: String?
    /// Whether the user has been told of the failure already, so that only its exit code is left to give.
    package private(set) var isReported = false

    /// A failure by its parts.
    ///
    /// - Parameters:
    ///   - status: the exit code.
    ///   - code: the stable name; nil for the name of `status`.
    ///   - message: what happened, as a phrase.
    ///   - hint: what to do about this very failure; nil for what usually helps with `status`.
    package init(_ status: ExitStatus, code: String? = nil, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code ?? status.name
        self.reason = message
        self.hint = hint ?? status.usualHint
    }

    /// A failure that a command finds by itself.
    ///
    /// - Parameters:
    ///   - kind: the kind of failure, which gives exit code and stable name.
    ///   - message: what happened, as a phrase.
    ///   - hint: what to do about this very failure; nil for what usually helps with its exit code.
    package init(_ kind: Kind, _ message: String, hint: String? = nil) {
        self.init(kind.status, code: kind.rawValue, message, hint: hint)
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
        CommandFailure(status, code: code, "\(subject): \(reason)", hint: hint)
    }

    /// This failure with the path of the file that it is about in the command of its hint.
    package func hinting(at path: String) -> CommandFailure {
        guard let hint, hint.hasSuffix(" FILE") else { return self }
        return advising(hint.dropLast("FILE".count) + path.quotedForShell)
    }

    /// This failure with another message.
    package func saying(_ message: String) -> CommandFailure {
        CommandFailure(status, code: code, message, hint: hint)
    }

    /// This failure with other advice.
    package func advising(_ hint: String) -> CommandFailure {
        CommandFailure(status, code: code, reason, hint: hint)
    }
}

extension CommandFailure {
    /// Any error as a command reports it. An error of another package is a bug, and the failure says so.
    package init(_ error: any Error) {
        if let failure = error as? any ReportableFailure {
            self = failure.commandFailure
        } else {
            self.init(.unexpected, "unexpected error: \(error)")
        }
    }
}
