package import CommandSupport
package import SharingChannels

extension SharingChannelError: ReportableFailure {
    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .locked: FailureMeaning(.refused, code.rawValue, hint: .unlock)
        case .alreadyUsed, .notRunning:
            FailureMeaning(.refused, code.rawValue, hint: "send the credential again")
        case .notPaired: FailureMeaning(.refused, code.rawValue, hint: "pair the two apps first")
        case .failed: FailureMeaning(.inputOutput)
        case .missingEntitlement, .denied, .expired, .overwritten, .notPermitted, .damaged:
            FailureMeaning(.refused, code.rawValue)
        }
    }

    package var particularHint: String? {
        let hintOfCause = (cause as? any ReportableFailure)?.hint
        return switch code {
        case .missingEntitlement: missingGroup.map(\.hint) ?? hintOfCause
        case .locked, .failed: hintOfCause
        case .alreadyUsed, .notRunning, .notPaired, .denied, .expired, .overwritten, .notPermitted, .damaged:
            nil
        }
    }

    package var reportedCause: (any ReportableFailure)? {
        code == .failed ? cause as? any ReportableFailure : nil
    }
}

extension MissingGroup {
    /// The changes that give the two apps a common group.
    fileprivate var hint: String {
        guard isOneTeam else {
            return "apps of two teams cannot share a group; use a channel without a group"
        }
        return gaps.first ?? "give both apps the same \(kind) group"
    }
}
