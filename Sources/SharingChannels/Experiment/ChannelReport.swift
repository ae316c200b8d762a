package import Diagnostics
/// What the trial of a channel showed. Every value was tried, none is assumed.
package struct ChannelReport: Sendable {
    /// What an attacker got. The raw value is the word that commands print.
    package enum Attack: String, Sendable, Hashable {
        /// The attacker got nothing, whatever the user said.
        case failed = "no"
        /// The attacker got the credential after the user agreed.
        case withConsent = "with consent"
        /// The attacker got the credential without a question to the user.
        case succeeded = "yes"
    }

    /// The channel's name.
    package let name: String
    /// Why nothing came through; nil where the receiver got the credential.
    package let failure: SharingChannelError?
    /// What an app of another team without any group got.
    package let attack: Attack
    /// Whether the credential stands in a plain file, where any program of this user finds it.
    package let isInPlainFile: Bool
    /// Whether the receiver got the credential two minutes later, after the device was restarted and unlocked.
    package let survivesRestart: Bool
    /// Whether the receiver got the credential after both apps were removed and installed again.
    package let survivesReinstall: Bool
    /// The median time from sending to having received; nil where nothing came through.
    package let handOver: Duration?
}

extension ChannelReport {
    /// Makes the report of a channel on which nothing came through; nothing else was tried on it.
    init(_ name: String, failure: SharingChannelError) {
        self.init(
            name: name, failure: failure, attack: .failed, isInPlainFile: false, survivesRestart: false,
            survivesReinstall: false, handOver: nil)
    }
}
