/// The measured properties of a channel.
package struct ChannelReport: Sendable {
    /// The result of the attack. The raw value is the word that commands print.
    package enum Attack: String, Sendable, Hashable {
        /// The attacker got nothing, whatever the user answered.
        case failed = "no"
        /// The attacker got the credential after the user agreed.
        case withConsent = "with consent"
        /// The attacker got the credential without the user being asked.
        case succeeded = "yes"
    }

    /// The channel's name.
    package let name: String
    /// The reason why no credential was transferred. Nil if the receiver got the credential.
    package let failure: SharingChannelError?
    /// The result of an attack by an app of another team that belongs to no group.
    package let attack: Attack
    /// Whether a file contains the credential in plaintext, so that any program of this user can read the credential.
    package let isInPlainFile: Bool
    /// Whether the receiver got the credential two minutes later, after the device was restarted and unlocked.
    package let survivesRestart: Bool
    /// Whether the receiver got the credential after both apps were removed and installed again.
    package let survivesReinstall: Bool
    /// The median time from sending to receiving. Nil if no credential was transferred.
    package let handOver: Duration?
}

extension ChannelReport {
    /// Creates the report of a channel that transferred no credential. Nothing else was tried.
    init(_ name: String, failure: SharingChannelError) {
        self.init(
            name: name, failure: failure, attack: .failed, isInPlainFile: false, survivesRestart: false,
            survivesReinstall: false, handOver: nil)
    }
}
