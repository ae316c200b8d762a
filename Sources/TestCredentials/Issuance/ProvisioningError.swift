/// Why something cannot be provisioned; equal by code.
package struct ProvisioningError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        case noSuchProfile = "no-such-profile"
        case typeNotInProfile = "type-not-in-profile"
        case dateOutOfRange = "date-out-of-range"
        case malformedPerson = "malformed-person"
        case nothingToRenew = "nothing-to-renew"
        case noSuchScenario = "no-such-scenario"
        case malformedScenario = "malformed-scenario"
        case faultNeedsFile = "fault-needs-file"
    }

    package let code: Code
    /// What happened, as a phrase.
    package let reason: String
    /// What to do about it, as a phrase; nil where nothing can be advised.
    package let hint: String?

    init(_ code: Code, _ reason: String, hint: String? = nil) {
        self.code = code
        self.reason = reason
        self.hint = hint
    }

    package static func == (left: ProvisioningError, right: ProvisioningError) -> Bool {
        left.code == right.code
    }
}
