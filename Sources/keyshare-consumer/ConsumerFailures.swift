import CommandSupport
import KeyShareConsumer
import ZipBundles

extension ConsumerError: CommandReportable {
    var commandFailure: CommandFailure {
        let status: ExitStatus =
            switch code {
            case .noSuchIdentity, .ambiguousLabel, .isFolder, .nothingToImport: .noSuchItem
            case .itemDisabled: .refused
            case .noPassword, .pasteboardHoldsOther, .servicePassword: .wrongPassword
            case .noPasswordService, .emptyAnswer: .providerUnavailable
            }
        return CommandFailure(status, code: code.rawValue, reason, hint: hint)
    }
}

extension ZipError: CommandReportable {
    var commandFailure: CommandFailure {
        switch code {
        case .notAnArchive, .damagedArchive, .damagedEntry, .sizeMismatch:
            CommandFailure(.malformed, reason)
        case .unsupportedMethod: CommandFailure(.unsupportedAlgorithm, reason)
        case .creationFailed: CommandFailure(.unexpected, reason)
        case .archiveTooLarge, .tooManyEntries, .entryTooLarge, .contentsTooLarge, .excessiveRatio:
            CommandFailure(.refused, code: "limit", reason)
        case .unsafeName, .duplicateName, .overlappingEntries, .encryptedEntry, .notAFile:
            CommandFailure(.refused, code: "unsafe-archive", reason)
        }
    }
}

extension ZipContents.Skipped.Reason {
    /// Why an entry is not looked into, as a phrase.
    var words: String {
        switch self {
        case .folder: "a folder"
        case .macOSAttributes: "attributes that macOS keeps of another entry"
        }
    }
}
