internal import Diagnostics

/// An error that prevented the transfer of a credential through a channel.
package struct SharingChannelError: Failure {
    /// The kinds of failure. The raw value is the stable name that commands print.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// An app is not entitled to the group that the channel needs.
        case missingEntitlement = "missing-entitlement"
        /// The state of the device blocks the channel.
        case locked
        /// The user did not consent, or could not be asked.
        case denied
        /// The credential has expired.
        case expired
        /// Another app overwrote the credential.
        case overwritten
        /// The channel transfers a credential only once, and has already transferred this one.
        case alreadyUsed = "spent"
        /// The sending process is not running.
        case notRunning = "not-running"
        /// The app lacks the key that both ends share.
        case notPaired = "not-paired"
        /// The system does not let this kind of extension use the channel.
        case notPermitted = "not-permitted"
        /// The data on the channel was altered.
        case damaged
        /// Any other failure, such as that of a file or a disk.
        case failed
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for people, without a full stop and without the secret.
    package let reason: String
    /// The underlying error; nil if the channel itself failed.
    package let cause: (any Error)?
    /// The missing group, for `missingEntitlement` of a group channel; nil for other failures.
    package let missingGroup: MissingGroup?

    /// Creates an error.
    package init(
        _ code: Code, _ reason: String, missingGroup: MissingGroup? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.missingGroup = missingGroup
        self.cause = cause
    }
}

/// The reason why two apps have no common group. The commands derive the hint from it.
package struct MissingGroup: Sendable {
    /// The kinds of group that a channel can use.
    package enum Kind: String, Sendable {
        case keychain, application
    }

    /// The kind of the group that is missing.
    package let kind: Kind
    /// Whether the apps belong to one team. A group belongs to a team, so apps of two teams cannot have a common group.
    package let isOneTeam: Bool
    /// The problems with the groups in the apps' entitlements, one phrase each, the most helpful first.
    package let gaps: [String]

    /// Creates a description of the missing group.
    package init(kind: Kind, isOneTeam: Bool, gaps: [String]) {
        self.kind = kind
        self.isOneTeam = isOneTeam
        self.gaps = gaps
    }
}
