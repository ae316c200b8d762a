/// The JSON document of `keyshare-device channels`.
package struct ChannelsDocument: Codable, Sendable {
    /// The results for one channel.
    package struct Channel: Codable, Sendable {
        /// The name of the channel.
        package let channel: String
        /// Whether the receiver obtained the credential.
        package let works: Bool
        /// The code of the reason why the channel is closed; nil if the channel works.
        package let reason: String?
        /// The reason why the channel is closed, as a phrase; nil if the channel works.
        package let message: String?
        /// Advice on how to open the channel, as a phrase; nil if there is none.
        package let hint: String?
        /// Whether a third app could read the credential; nil if the channel does not work.
        package let othersRead: String?
        /// Whether the secret was in a file in plain text; nil if the channel does not work.
        package let isInPlainFile: Bool?
        /// Whether the credential survives a restart of the device; nil if the channel does not work.
        package let survivesRestart: Bool?
        /// Whether the credential survives a reinstallation of the sender; nil if the channel does not work.
        package let survivesReinstall: Bool?
        /// The duration of the transfer in milliseconds; nil if the channel does not work.
        package let handOverMilliseconds: Double?

        /// Creates the results for one channel.
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

    /// The channels in the order of the trials.
    package let channels: [Channel]

    /// Creates the document from its entries.
    package init(channels: [Channel]) {
        self.channels = channels
    }
}
