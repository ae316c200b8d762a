/// Why a credential did not come through a channel.
package struct SharingChannelError: Failure {
    package static let domain = FailureDomain.sharingChannel

    /// The kinds of failure. The raw value is the stable name that commands print.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// An app is not entitled to the group that the channel needs.
        case missingEntitlement = "missing-entitlement"
        /// The state of the device keeps the channel closed.
        case locked
        /// The user did not agree, or could not be asked.
        case denied
        /// The credential has expired.
        case expired
        /// Another app has put something else in the credential's place.
        case overwritten
        /// The channel gives a credential once, and has given it.
        case alreadyUsed = "spent"
        /// The process that hands the credential over does not run.
        case notRunning = "not-running"
        /// The app does not have the key that both ends share.
        case notPaired = "not-paired"
        /// The system keeps this kind of extension from the channel.
        case notPermitted = "not-permitted"
        /// The data on the channel was altered.
        case damaged
        /// None of several channels is open.
        case noChannel = "no-channel"
        /// Any other failure, such as that of a file or a disk.
        case failed
    }

    /// The kind of failure.
    package let code: Code
    /// One sentence for people, without a full stop and without the secret.
    package let reason: String
    /// The error of the module below; nil where the channel itself failed.
    package let cause: (any Error)?
    /// What the two apps lack, for `missingEntitlement` of a channel through a group; nil for other failures.
    package let missingGroup: MissingGroup?

    /// Makes an error of this kind with a sentence for people.
    package init(
        _ code: Code, _ reason: String, missingGroup: MissingGroup? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.missingGroup = missingGroup
        self.cause = cause
    }
}

/// What keeps two apps from having a common group. The commands turn it into advice.
package struct MissingGroup: Sendable {
    /// The kinds of group that a channel can go through.
    package enum Kind: String, Sendable {
        case keychain, application
    }

    /// The kind of the group that is missing.
    package let kind: Kind
    /// Whether the apps are of one team. Apps of two teams can have no common group: a group belongs to a team.
    package let isOneTeam: Bool
    /// What is wrong with the groups that the apps name in their entitlements, a phrase each, the most telling first.
    package let gaps: [String]

    /// Describes what is missing.
    package init(kind: Kind, isOneTeam: Bool, gaps: [String]) {
        self.kind = kind
        self.isOneTeam = isOneTeam
        self.gaps = gaps
    }
}
