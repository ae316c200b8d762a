internal import Diagnostics

/// The failure of a command: its message, hint and exit code. Failures are equal if status and code are equal.
package struct CommandFailure: Failure {
    /// The failures that commands detect themselves. Each is more specific than an exit code. The raw value is the
    /// stable name.
    package enum Kind: String, Sendable, CaseIterable {
        /// A file to classify contains no certificate.
        case noCertificate = "no-certificate"
        /// The folder is not a simulated device.
        case noDevice = "no-device"
        /// The user did not confirm the action, or could not be asked.
        case notConfirmed = "not-confirmed"
        /// Consent to read the pasteboard could not be requested.
        case noConsent = "no-consent"
        /// A file exceeds the command's size limit.
        case tooLarge = "too-large"
        /// Some items of a backup were not restored.
        case notRestored = "left-behind"
        /// An identity in a backup, or of a device to merge, is invalid.
        case unsoundBackup = "unsound-backup"
        /// A consumer under test does not behave as required.
        case notConformant = "not-conformant"
        /// A file cannot be read.
        case unreadable
        /// The keychain or the device is damaged.
        case damaged
        /// A token's behaviour differs from the expected one.
        case tokenSurprise = "token-surprise"
        /// The provider that the web page started has failed.
        case providerCommand = "provider-command"
        /// Android's dialog returned no alias.
        case aliasNotChosen = "alias-not-chosen"

        /// The exit code of this kind of failure.
        var status: ExitStatus {
            switch self {
            case .noCertificate, .noDevice: .noSuchItem
            case .notConfirmed, .noConsent, .tooLarge, .notRestored, .aliasNotChosen:
                .refused
            case .unsoundBackup, .notConformant: .validationFailed
            case .unreadable, .damaged: .inputOutput
            case .tokenSurprise: .unexpected
            case .providerCommand: .providerUnavailable
            }
        }
    }

    /// The exit code of the command.
    package let status: ExitStatus
    /// The stable name of the failure for scripts, such as `wrong-password`.
    package let code: String
    /// The message, as a phrase that follows the command's name.
    package let reason: String
    /// The hint for the user, as a phrase; nil if there is none.
    package let hint: String?
    /// Whether the failure was already shown to the user. If so, the process only has to return the exit code.
    package private(set) var isReported = false

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - status: The exit code.
    ///   - code: The stable name; nil for the name of `status`.
    ///   - message: The message, as a phrase.
    ///   - hint: Advice for this failure; nil for the usual hint of `status`.
    package init(_ status: ExitStatus, code: String? = nil, _ message: String, hint: String? = nil) {
        self.status = status
        self.code = code ?? status.name
        self.reason = message
        self.hint = hint ?? status.usualHint
    }

    /// Creates a failure that a command detects itself.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure, which determines the exit code and the stable name.
    ///   - message: The message, as a phrase.
    ///   - hint: Advice for this failure; nil for the usual hint of its exit code.
    package init(_ kind: Kind, _ message: String, hint: String? = nil) {
        self.init(kind.status, code: kind.rawValue, message, hint: hint)
    }

    package static func == (left: CommandFailure, right: CommandFailure) -> Bool {
        left.status == right.status && left.code == right.code
    }

    /// This failure, marked as already shown to the user.
    package var reported: CommandFailure {
        var failure = self
        failure.isReported = true
        return failure
    }

    /// Returns a copy of this failure whose message begins with the name of its file, item or channel, unless the message
    /// quotes the name.
    package func about(_ subject: String) -> CommandFailure {
        if reason.contains("\u{201C}\(subject)\u{201D}") { return self }
        return CommandFailure(status, code: code, "\(subject): \(reason)", hint: hint)
    }

    /// Returns a copy of this failure with the path of its file added to the command in its hint.
    package func hinting(at path: String) -> CommandFailure {
        guard let hint, hint.hasSuffix(" FILE") else { return self }
        return advising(hint.dropLast("FILE".count) + path.quotedForShell)
    }

    /// Returns a copy of this failure with another message.
    package func saying(_ message: String) -> CommandFailure {
        CommandFailure(status, code: code, message, hint: hint)
    }

    /// Returns a copy of this failure with another hint.
    package func advising(_ hint: String) -> CommandFailure {
        CommandFailure(status, code: code, reason, hint: hint)
    }
}

extension CommandFailure {
    /// Converts any error to a failure. An error from another package is a bug and is reported as one.
    package init(_ error: any Error) {
        if let failure = error as? any ReportableFailure {
            self = failure.commandFailure
        } else {
            self.init(.unexpected, "unexpected error: \(error)")
        }
    }
}
