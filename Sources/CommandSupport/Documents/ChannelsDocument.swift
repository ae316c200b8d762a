/// The JSON document of `keyshare-device channels`.
package struct ChannelsDocument: Codable, Sendable {
    /// What was found out about one channel.
    package struct Channel: Codable, Sendable {
        /// The name of the channel.
        package let channel: String
        /// Whether the receiver got the credential.
        package let works: Bool
        /// The code of the reason why the channel is closed; nil where it works.
        package let reason: String?
        /// Why the channel is closed, as a phrase; nil where it works.
        package let message: String?
        /// What to do about a closed channel, as a phrase; nil where nothing can be advised.
        package let hint: String?
        /// Whether a third app could read the credential; nil where the channel does not work.
        package let othersRead: String?
        /// Whether the secret lay in a file in plain; nil where the channel does not work.
        package let isInPlainFile: Bool?
        /// Whether the credential outlives a restart of the device; nil where the channel does not work.
        package let survivesRestart: Bool?
        /// Whether the credential outlives a new installation of the sender; nil where the channel does not work.
        package let survivesReinstall: Bool?
        /// How long the hand-over took, in milliseconds; nil where the channel does not work.
        package let handOverMilliseconds: Double?

        /// Describes one channel by its parts.
        package init(
            channel: String, works: Bool, reason: String?, message: String?, hint: String?,
            othersRead: String?, isInPlainFile: Bool?, survivesRestart: Bool?, survivesReinstall: Bool?,
            handOverMilliseconds: Double?
        ) {
            self.channel = channel
            self.works = works
            self.reason = reason
            self.message = message
            self.hint = hint
            self.othersRead = othersRead
            self.isInPlainFile = isInPlainFile
            self.survivesRestart = survivesRestart
            self.survivesReinstall = survivesReinstall
            self.handOverMilliseconds = handOverMilliseconds
        }
    }

    /// The channels in the order in which they were tried.
    package let channels: [Channel]

    /// Describes channels.
    package init(channels: [Channel]) {
        self.channels = channels
    }
}
