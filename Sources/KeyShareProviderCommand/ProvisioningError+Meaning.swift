package import CommandSupport
package import TestCredentials

extension ProvisioningError: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .noSuchProfile, .typeNotInProfile:
                (.usage, "to list the profiles: keyshare-provider provision --help")
            case .dateOutOfRange:
                (.usage, "request fewer, or later, generations and recovered keys")
            case .malformedPerson, .malformedScenario: (.usage, nil)
            case .noSuchScenario:
                (.usage, "to list the scenarios: keyshare-provider provision --list-scenarios")
            case .noSuchFault: (.usage, "to list the faults: keyshare-provider faults")
            case .faultNeedsFile: (.usage, "specify a file with -o")
            case .faultOfFile: (.usage, "omit --token-only, and specify a file with -o")
            case .nothingToRenew: (.noSuchItem, "create some first: keyshare-provider provision")
            case .notRevocable: (.refused, "to list the authorities that can revoke: keyshare-provider trust")
            }
        return FailureMeaning(status, code.rawValue, hint: hint)
    }

    package var particularHint: String? {
        switch code {
        case .malformedPerson, .malformedScenario, .dateOutOfRange: remedy?.hint
        case .noSuchScenario, .noSuchFault:
            remedy.map { "\($0.hint) \(Self.meaning(of: code).hint ?? "")" }
        case .noSuchProfile, .typeNotInProfile, .faultNeedsFile, .faultOfFile,
            .nothingToRenew, .notRevocable:
            nil
        }
    }
}

extension ProvisioningError.Remedy {
    /// The remedy for the failure, as a hint.
    fileprivate var hint: String {
        switch self {
        case .nearestName(let name): "did you mean \u{201C}\(name)\u{201D}?"
        case .keys(let nearest, let all):
            (nearest.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? "")
                + "the valid keys are \(all.joined(separator: ", "))"
        case .fileOfTestVector(let name):
            "write it to a file: keyshare-provider provision --fault \(name) -o \(name).p12"
        case .shorterInterval: "choose a shorter interval, such as 6 months"
        case .earlierStart: "choose an earlier start or a later end"
        }
    }
}
