import TestCredentials
import CommandSupport
import KeyShareProvider

extension ProvisioningError: CommandReportable {
    var commandFailure: CommandFailure {
        switch code {
        case .noSuchProfile, .typeNotInProfile:
            CommandFailure(
                .usage, code: code.rawValue, reason,
                hint: "keyshare-provider provision --help names the profiles")
        case .malformedPerson, .dateOutOfRange, .noSuchScenario, .malformedScenario, .faultNeedsFile:
            CommandFailure(.usage, code: code.rawValue, reason, hint: hint)
        case .nothingToRenew:
            CommandFailure(
                .noSuchItem, code: code.rawValue, reason, hint: "keyshare-provider provision makes some first"
            )
        }
    }
}
